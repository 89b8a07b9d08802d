// Tokens that may not be drawn at a place: words to avoid, and ends that come too early.
// Called by sample/sampler. Read next: sample/sampler.cc.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sample/truncate.h"

namespace fathom::sample {

// Adds the last id of every word whose other ids `answer` ends with: drawing it would complete the
// word. A word of one id is always complete. Words are not empty.
void find_word_ends(std::span<const std::vector<int32_t>> words, std::span<const int32_t> answer,
                    std::vector<int32_t>& out);

// Sets the value of these ids to -inf; ids that are no candidates are passed over. `candidates` in
// the order of their ids. Gives whether a candidate above -inf is left; false: nothing was changed.
bool try_mask(std::span<const int32_t> ids, std::vector<Candidate>& candidates);

}  // namespace fathom::sample
