// What a fuzz target does with a file that was read: bind it, load it, run one token, tokenize a
// text. Any fathom::Error is a right answer; a crash, a hang or a sanitizer report is a finding.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "codec/tokenizer.h"
#include "support/model_rig.h"
#include "weights/model_file.h"

namespace fathom::fuzz {

// Larger models than this would only make the fuzzer slow: their sizes were checked against the
// file.
inline constexpr int64_t kMostWeightBytes = int64_t{32} << 20;

inline void run_token(std::shared_ptr<weights::ModelFile> file) {
  const model::LoadPlan plan = model::plan_load(*file, {});
  if (plan.weight_bytes > kMostWeightBytes || plan.config.n_layers > 64) {
    return;
  }
  const auto n_vocab = static_cast<int32_t>(plan.config.n_vocab);
  test::RigOptions options;
  options.n_pages = 1;
  options.limits = {.max_tokens = 2, .max_logits = 1};
  test::ModelRig rig(std::move(file), options);
  const std::vector<int32_t> ids = {0, n_vocab - 1};
  rig.logits(ids, 1);
}

// Runs `step` and takes a clear error for an answer.
template <class F>
void accept_errors(F step) {
  try {
    step();
  } catch (const Error&) {
    return;
  }
}

}  // namespace fathom::fuzz
