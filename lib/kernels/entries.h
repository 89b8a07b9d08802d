// The list of all entries of a KernelTable: what --kernels prints, the self-test runs, tests
// compare. Called by kernels/dispatch, kernels/self_test, tests. Read next: kernels/probe.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/table.h"

namespace fathom::kernels {

// The arrays and single pointers of KernelTable, in its order.
enum class Family : uint8_t {
  kMatmulFew,
  kMatmulMany,
  kMatmulCoarse,
  kQuantizeRow,
  kQuantizeCoarseRow,
  kRoundRowBf16,
  kCopyRowF32,
  kRmsNorm,
  kLayerNorm,
  kGated,
  kActivate,
  kClampedSwiglu,
  kAdd,
  kScale,
  kAddScaled,
  kClamp,
  kSoftCap,
  kRope,
  kWriteK,
  kWriteV,
  kAttendSpan,
  kMergeSpan,
  kFinishAttend,
};

// "matmul_few", "rms_norm" ...
std::string_view name_of(Family family);

struct Entry {
  Family family = Family::kMatmulFew;
  int index = 0;             // position in the array; 0 for a single entry
  std::string_view variant;  // "Q4_0", "silu", "bf16" ...; empty for a single entry
  size_t offset = 0;         // of the pointer inside KernelTable, in bytes

  // "matmul_few.Q4_0", "rms_norm"
  [[nodiscard]] std::string name() const;
};

// Every entry that the scalar table fills, in the order of KernelTable.
const std::vector<Entry>& all_entries();

// True when both tables hold the same function there.
bool is_same_entry(const Entry& entry, const KernelTable& a, const KernelTable& b);

// Copies one function pointer.
void copy_entry(const Entry& entry, const KernelTable& from, KernelTable* to);

}  // namespace fathom::kernels
