// Rotation frequencies of a kind of rope, with its scaling.
// Called by model/rope_tables. Read next: ops/backend.h (fill_rope).
#pragma once

#include <cstdint>
#include <span>

#include "model/config.h"

namespace fathom::model {

// True where the table depends on the length of the sequence.
bool depends_on_length(const RopeOptions& rope);

// inv_freq [rotary_dim / 2] of a sequence planned to be `length` tokens long, f32 as transformers
// rounds it: 1 / f32(theta^(2i/d)), then scaled. Angles are position * inv_freq[i]; cos and sin are
// multiplied by rope.magnitude. `divisors`: the file's rope_freqs.weight, or empty. Sources: arXiv
// 2104.09864; linear arXiv 2306.15595; YaRN arXiv 2309.00071; longrope arXiv 2402.13753; dynamic,
// llama3, proportional: the released models' code.
void fill_inv_freq(const RopeOptions& rope, std::span<const float> divisors, int64_t length,
                   std::span<float> inv_freq);

// Names the choice that a length makes for one kind of rope: equal ids have equal frequencies. 0
// where it does not depend on the length, and for the lengths that the model was trained for.
int64_t rope_id(const RopeOptions& rope, int64_t length);

// The choice over all kinds of rope: sequences with equal ids may share
// pages. 0 where no kind depends on the length.
int64_t rope_id(const ModelConfig& config, int64_t length);

}  // namespace fathom::model
