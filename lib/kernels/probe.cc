// Sends an entry to the probe of its family; hashes the words.
// Called by kernels/self_test, tests. Read next: kernels/probe_matmul.cc.
#include "kernels/probe.h"

#include "kernels/probe_data.h"

namespace fathom::kernels {

std::vector<uint32_t> probe_entry(const Entry& entry, const KernelTable& table) {
  ProbeOutput out;
  switch (entry.family) {
    case Family::kMatmulFew:
    case Family::kMatmulMany:
    case Family::kMatmulCoarse:
      probe_matmul(entry, table, &out);
      break;
    case Family::kWriteK:
    case Family::kWriteV:
    case Family::kAttendSpan:
    case Family::kMergeSpan:
    case Family::kFinishAttend:
      probe_attend(entry, table, &out);
      break;
    default:
      probe_rows(entry, table, &out);
      break;
  }
  return std::move(out.words);
}

std::vector<uint32_t> probe_options(const Entry& entry, const KernelTable& table) {
  ProbeOutput out;
  probe_attend_options(entry, table, &out);
  return std::move(out.words);
}

uint64_t hash_words(const std::vector<uint32_t>& words) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ (word >> shift & 0xFFU)) * 0x100000001B3ULL;
    }
  }
  return hash;
}

}  // namespace fathom::kernels
