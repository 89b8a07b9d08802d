// Fixed pseudo-random data through one entry of a table: what the self-test compares and the golden
// hashes are made of.
// Called by kernels/self_test, tests. Read next: kernels/probe_matmul.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/entries.h"

namespace fathom::kernels {

// The output words of `entry` of `table` on its fixed data, canonical: -0 as +0, every NaN as
// 0x7FC00000. The same words for every correct set on every machine. Below 2 ms an entry.
std::vector<uint32_t> probe_entry(const Entry& entry, const KernelTable& table);

// The same with the options that an entry may be called with: attend_span with slopes and with
// values narrower than keys. Empty for the other entries.
std::vector<uint32_t> probe_options(const Entry& entry, const KernelTable& table);

// A 64-bit hash of words (FNV-1a over bytes, little endian).
uint64_t hash_words(const std::vector<uint32_t>& words);

}  // namespace fathom::kernels
