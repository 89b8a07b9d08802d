// The gate of `--arithmetic fast`: it is admitted for a model once its divergence from
// `--compute f32` was measured on a text and found small; the receipt of that lies on disk.
// Called by apps (verify writes, run and serve ask). Read next: api/divergence.h, docs/numbers.md
// ("Fast prompts").
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/session.h"

namespace fathom::api {

// Mean KL divergence in nats per token from f32 up to which fast prompts are admitted.
inline constexpr double kMostFastDivergence = 0.005;

// The arithmetic that was measured: raised whenever a bit of it changes.
inline constexpr int kFastRule = 1;

struct FastReceipt {
  std::string model_id;  // of the weights and adapters by their content
  std::string model;     // as it was called then; only shown
  int rule = kFastRule;
  double divergence = 0;  // mean KL to f32
  int64_t n_tokens = 0;   // scored
  std::string text_id;    // SHA-256 of the text
  std::string version;    // of the program

  [[nodiscard]] bool is_admitted() const {
    return rule == kFastRule && divergence <= kMostFastDivergence;  // false for a NaN
  }
};

// fathom/fast in the user's state folder, ${XDG_STATE_HOME:-$HOME/.local/state}. Error:
// kInvalidArgument when neither variable is set.
std::string fast_receipt_folder();

// Names what the options open: weights, overrides, adapters. Errors: those of weights::open_model,
// weights::apply_override and weights::open_adapter.
std::string fast_model_id(const SessionOptions& options);

// Writes FOLDER/<model_id>.json, making the folder where it is missing. Errors: those of
// OutputFile.
void write_fast_receipt(const std::string& folder, const FastReceipt& receipt);

// The receipt of a model; empty where there is none. Error: kCorruptFile for a file that is none.
std::optional<FastReceipt> read_fast_receipt(const std::string& folder,
                                             const std::string& model_id);

// Error: kUnsupported unless `receipt` admits fast prompts: says what was found, the limit, and the
// command to run.
void require_fast_receipt(const std::string& model_path, const std::optional<FastReceipt>& receipt);

struct FastMeasurement {
  SessionOptions session;      // model, adapters, threads; its arithmetic is not looked at
  std::string_view text;       // as read from a file
  int64_t max_chunks = 8;      // of 512 tokens; -1: the whole text
  std::string scratch_folder;  // the log-probabilities of f32 lie here for a while, some 100 MB
  std::string version;
  std::function<void(std::string_view arithmetic)> on_run = {};  // before each of both
};

// Runs the text with f32 and with fast prompts, one after the other. Errors: those of
// Session::open, cut_text, LogProbWriter; kUnsupported for a model without a vocabulary.
FastReceipt measure_fast(const FastMeasurement& job);

}  // namespace fathom::api
