// The keys of rotations and their scalings.
// Called by model/arch/*. Read next: model/rope.h.
#pragma once

#include <string_view>

#include "model/arch/config_reader.h"
#include "model/config.h"

namespace fathom::model {

// One kind of rope for heads of `head_dim`. config.json: from transformers 5's dictionary `prefix`
// ("rope_parameters.", "rope_parameters.full_attention.") if it is there, else from rope_theta and
// rope_scaling. GGUF: from "rope.*". Error: kUnsupported for a scaling that is not there, named.
RopeOptions read_rope(const ConfigReader& reader, int head_dim, std::string_view prefix);

// True if config.json has that dictionary.
bool has_rope_dictionary(const ConfigReader& reader, std::string_view prefix);

// m(s) = 0.1 s ln(factor) + 1: YaRN's correction of scores.
double yarn_mscale(double factor, double scale);

// For families that pair element 2i with 2i + 1.
void set_rope_pairs(ModelConfig& config);

}  // namespace fathom::model
