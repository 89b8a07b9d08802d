// What this process holds and may hold: /proc, resource limits, cgroups.
// Called by api/session, apps (plan, run). Read next: xray/memory_plan.h.
#pragma once

#include <cstdint>
#include <string>

namespace fathom::xray {

struct ProcessMemory {
  int64_t resident_bytes = 0;       // VmRSS
  int64_t peak_resident_bytes = 0;  // VmHWM
  int64_t virtual_bytes = 0;        // VmSize
  int64_t data_bytes = 0;           // VmData, what RLIMIT_DATA counts
};

// Reads /proc/self/status.
ProcessMemory process_memory();

// The smallest of the limits that hold for the resident size of this process, and which one it is.
struct MemoryLimit {
  int64_t bytes = 0;
  std::string name;  // "MemAvailable", "cgroup limit", "RLIMIT_AS (ulimit -v)", ...
};

// Address space beyond what becomes resident: thread stacks, the alignment of pools, the
// allocator's reserves.
inline constexpr int64_t kAddressSlackBytes = int64_t{32} << 20;

// MemAvailable plus what the process holds; the limits of its cgroup and of all above it (v2 and
// v1); what RLIMIT_AS (less kAddressSlackBytes) and RLIMIT_DATA leave, plus what it holds. `held`
// as process_memory() gives.
MemoryLimit memory_limit(const ProcessMemory& held);

// The limit that the files of a cgroup hierarchy set: the smallest of `root`/path/`file` and those
// of all folders above, up to `root`; "max" and unreadable files set none (INT64_MAX).
int64_t cgroup_limit_bytes(const std::string& root, const std::string& path,
                           const std::string& file);

}  // namespace fathom::xray
