// Rotation frequencies of a kind of rope, with its scaling.
// Called by model/model for each sequence of a step. Read next: ops/backend.h (fill_rope).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/config.h"

namespace fathom::model {

// Angles are position * inv_freq[i]; cos and sin are multiplied by `magnitude`.
struct RopeTable {
  std::vector<float> inv_freq;  // [rotary_dim / 2]
  float magnitude = 1.0F;
};

// True where the table depends on the length of the sequence.
bool depends_on_length(const RopeOptions& rope);

// The table of a sequence planned to be `length` tokens long, f32 as transformers rounds it: 1 /
// f32(theta^(2i/d)), then scaled. `divisors`: the file's rope_freqs.weight, or empty. Sources:
// arXiv 2104.09864; linear arXiv 2306.15595; YaRN arXiv 2309.00071; longrope arXiv 2402.13753;
// dynamic, llama3, proportional: the released models' code.
RopeTable make_rope_table(const RopeOptions& rope, std::span<const float> divisors, int64_t length);

// Names the choice that a length makes over all kinds of rope: sequences with equal ids may share
// pages. 0 where no kind depends on the length.
int64_t rope_id(const ModelConfig& config, int64_t length);

}  // namespace fathom::model
