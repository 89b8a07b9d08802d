// Options that several subcommands share: each is defined once, with its range and its help text.
// Called by apps/fathom/*.cc. Read next: options.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/model_sampling.h"
#include "api/session.h"
#include "command_line.h"
#include "sample/sampler.h"
#include "weight_flags.h"

namespace fathom::app {

// The model and how to compute with it.
struct ModelFlags {
  std::string path;
  int n_threads = -1;
  int64_t context = -1;
  std::string kv_type;               // empty: bf16, or f32 with --compute f32
  std::string compute;               // empty or "f32"
  std::string arithmetic = "exact";  // or "fast"
  std::string attention = "flash";
  WeightFlags weights;
};

void add_model_path(CommandLine& app, std::string& path);
void add_threads(CommandLine& app, int& n_threads);

// -m -t --compute --arithmetic, and those of weight_flags.h
void add_model_flags(CommandLine& app, ModelFlags& flags);

// -c --kv-type
void add_cache_flags(CommandLine& app, ModelFlags& flags);

// --kv-type
void add_kv_type(CommandLine& app, std::string& kv_type);

// --attention
void add_attention_flag(CommandLine& app, ModelFlags& flags);

// --ids 1,2,3
Option* add_ids(CommandLine& app, std::vector<int32_t>& ids, const std::string& name = "--ids",
                const std::string& what = "Token ids as the whole prompt: nothing is added");

// A check of options: a file name of no letters is refused.
std::string require_name(const std::string& name);

// A check of options: 1 to 2^31, or -1 for as many as the context holds.
std::string check_token_count(const std::string& text);

// --json
void add_json(CommandLine& app, bool& as_json, const std::string& what);

// Error: UsageError for --arithmetic fast with --compute f32.
api::SessionOptions session_options(const ModelFlags& flags);

// The gate of --arithmetic fast: says what was measured. Error: kUnsupported without a receipt that
// admits it; see api::require_fast_receipt.
void require_arithmetic(const api::SessionOptions& options);

// "exact", "fast" or "f32"
std::string arithmetic_name(const ModelFlags& flags);

// The sampler chain's parameters.
struct SamplingFlags {
  sample::SamplingParams params;
  bool has_seed = false;
};

// --temp --top-k ... --samplers --logit-bias --logprobs --seed
void add_sampling_flags(CommandLine& app, SamplingFlags& flags);

// Takes what the model's publisher recommends for the options that were not given.
void take_model_sampling(const CommandLine& app, const api::ModelSampling& model,
                         SamplingFlags& flags);

// Draws a seed where none was given and checks every range; refuses parameters that were given for
// a step that the chain does not hold. Error: UsageError.
void settle_sampling(const CommandLine& app, SamplingFlags& flags);

}  // namespace fathom::app
