// Sampling that a model's publisher recommends: generation_config.json of a folder, or the keys
// general.sampling.* of a GGUF file.
// Called by apps (for options that were not given). Read next: sample/sampler.h.
#pragma once

#include <optional>

#include "sample/sampler.h"
#include "weights/metadata.h"

namespace fathom::api {

// What the file says; nothing where it is silent.
struct ModelSampling {
  std::optional<float> temperature;
  std::optional<int> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::optional<float> repeat_penalty;

  [[nodiscard]] bool is_empty() const {
    return !temperature && !top_k && !top_p && !min_p && !repeat_penalty;
  }
};

// "do_sample": false without a temperature asks for the likeliest token. Error: kCorruptFile for a
// key of another type or outside the range of sample::check, named.
ModelSampling read_model_sampling(const weights::Metadata& metadata);

}  // namespace fathom::api
