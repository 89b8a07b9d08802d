// Reads the kernel's own figures. Read next: man 5 proc, man 2 getrlimit, man 7 cgroups.
#include "xray/process_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

namespace fathom::xray {

namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// "Name:   123 kB" lines of `file`; 0 when the name is not there.
int64_t read_kilobytes(const char* file, std::string_view name) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':') {
      int64_t kilobytes = 0;
      std::istringstream(line.substr(name.size() + 1)) >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

// What a resource limit leaves beyond `used`, as a limit of the resident size.
int64_t rlimit_bytes(__rlimit_resource resource, int64_t used, int64_t resident) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      limit.rlim_cur > static_cast<rlim_t>(kNoLimit)) {
    return kNoLimit;
  }
  return std::max<int64_t>(0, static_cast<int64_t>(limit.rlim_cur) - used) + resident;
}

// The smallest limit among the cgroups that /proc/self/cgroup names.
int64_t own_cgroup_limit() {
  int64_t limit = kNoLimit;
  std::ifstream in("/proc/self/cgroup");
  std::string line;  // "0::/path" (v2) or "7:memory:/path" (v1)
  while (std::getline(in, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      limit = std::min(limit, cgroup_limit_bytes("/sys/fs/cgroup", path, "memory.max"));
      limit = std::min(limit, cgroup_limit_bytes("/sys/fs/cgroup/unified", path, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      limit = std::min(limit,
                       cgroup_limit_bytes("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
    }
  }
  return limit;
}

}  // namespace

ProcessMemory process_memory() {
  constexpr const char* kStatus = "/proc/self/status";
  return {.resident_bytes = read_kilobytes(kStatus, "VmRSS"),
          .peak_resident_bytes = read_kilobytes(kStatus, "VmHWM"),
          .virtual_bytes = read_kilobytes(kStatus, "VmSize"),
          .data_bytes = read_kilobytes(kStatus, "VmData")};
}

int64_t cgroup_limit_bytes(const std::string& root, const std::string& path,
                           const std::string& file) {
  int64_t limit = kNoLimit;
  std::string folder = path == "/" ? "" : path;
  while (true) {
    std::string name = root;
    name.append(folder).append("/").append(file);
    std::ifstream in(name);
    int64_t value = 0;
    if (in >> value && value >= 0) {  // "max" is no number
      limit = std::min(limit, value);
    }
    const size_t slash = folder.rfind('/');
    if (slash == std::string::npos) {
      return limit;
    }
    folder.resize(slash);
  }
}

MemoryLimit memory_limit(const ProcessMemory& held) {
  const int64_t available = read_kilobytes("/proc/meminfo", "MemAvailable");
  const MemoryLimit candidates[] = {
      {available > 0 ? available + held.resident_bytes : kNoLimit, "MemAvailable"},
      {own_cgroup_limit(), "cgroup memory limit"},
      {rlimit_bytes(RLIMIT_AS, held.virtual_bytes + kAddressSlackBytes, held.resident_bytes),
       "address space limit (ulimit -v)"},
      {rlimit_bytes(RLIMIT_DATA, held.data_bytes, held.resident_bytes), "data limit (ulimit -d)"},
  };
  const MemoryLimit* smallest = &candidates[0];
  for (const MemoryLimit& candidate : candidates) {
    smallest = candidate.bytes < smallest->bytes ? &candidate : smallest;
  }
  return *smallest;
}

}  // namespace fathom::xray
