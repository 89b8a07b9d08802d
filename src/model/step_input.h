// The flat arrays of one forward pass over a batch.
// Filled by engine/batch, read by model/model.
#pragma once

#include <cstdint>
#include <span>

#include "ops/rows.h"

namespace fathom::model {

struct StepInput {
  std::span<const int32_t> token_ids;            // [n_tokens]  id of each row
  std::span<const int64_t> positions;            // [n_tokens]  position in its sequence
  std::span<const ops::SequenceRows> sequences;  // [n_seqs]    rows and pages, in row order
  std::span<const int64_t> logit_rows;           // [n_logits]  rows whose logits are wanted, rising
  // [n_tokens] rows of prompts under `--arithmetic fast`: their activations are int8 per 256, up to
  // the head; empty: none
  std::span<const bool> fast_rows = {};
};

}  // namespace fathom::model
