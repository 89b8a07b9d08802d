// Rotation frequencies of a kind of rope, with its scaling.
// Called by model/load (once per kind). Read next: ops/backend.h (fill_rope).
#pragma once

#include <span>
#include <vector>

#include "model/config.h"

namespace fathom::model {

// inv_freq [rotary_dim / 2], f32 as transformers rounds it: 1 / f32(theta^(2i/d)), then scaled.
// `divisors`: the file's rope_freqs.weight, or empty. Source: arXiv 2104.09864; linear scaling
// arXiv 2306.15595; llama3 scaling: the Llama 3.1 release.
std::vector<float> make_inv_freq(const RopeOptions& rope, std::span<const float> divisors);

}  // namespace fathom::model
