// Everything that one loaded model needs, built in order: file, plan, memory check, pools, threads,
// kernels, weights, pages, engine. Called by apps, later by the server. Read next: api/generator.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/paged_view.h"
#include "codec/tokenizer.h"
#include "engine/engine.h"
#include "kernels/dispatch.h"
#include "ops/backend.h"
#include "weights/adapter.h"
#include "weights/check_tensors.h"
#include "weights/model_file.h"
#include "xray/memory_plan.h"
#include "xray/op_profile.h"
#include "xray/process_memory.h"

namespace fathom::api {

// A folder with a LoRA adapter, and what its product is multiplied with besides its own scale.
struct AdapterPath {
  std::string folder;
  double scale = 1.0;
};

struct SessionOptions {
  std::string model_path;
  int64_t context = -1;  // -1: min(the model's, 4096)
  int n_threads = -1;    // -1: usable_cpus()
  bool compute_f32 = false;
  bool fast_prompts = false;          // --arithmetic fast, without its gate (api/fast_receipt.h)
  std::optional<PageType> page_type;  // default bf16; f32 with compute_f32
  ops::AttentionKind attention = ops::AttentionKind::kFlash;
  bool use_kv_cache = true;
  bool prefix_cache = false;  // keep the pages of prompts for later ones that begin alike
  int64_t max_sequences = 1;
  // The KV cache's memory, for serving; neither: the whole context for each sequence.
  std::optional<int64_t> kv_bytes;
  std::optional<double> memory_utilization;  // of the memory limit, for all of the process
  int64_t priority_aging = 256;              // see EngineOptions
  bool check_pages = false;                  // see EngineOptions
  std::optional<Isa> isa_cap;                // default: FATHOM_ISA, or all that the CPU has
  int64_t max_logits =
      0;  // rows of logits that score() may ask for at once; 0: score() is not used
  int64_t max_batched_tokens = 512;
  std::vector<AdapterPath> adapters;
  bool merge_adapters = false;            // into float weights, instead of beside them
  std::vector<std::string> overrides;     // KEY=VALUE, see weights/metadata_override.h
  bool packed_cache = false;              // keep packed weights on disk, see packed_cache_folder()
  bool profile_ops = false;               // measure every operation, see op_profile()
  bool check_tensors = false;             // look at every value of the file before loading
  model::LoadProgress progress;           // may be empty
  weights::CheckProgress check_progress;  // may be empty; the last call has done == total
};

// What pages and engines are told: kv::kExactArithmetic ...
uint8_t arithmetic_of(const SessionOptions& options);

// Where packed weights are kept: fathom/packed in the user's cache,
// ${XDG_CACHE_HOME:-$HOME/.cache}. Error: kInvalidArgument when neither variable is set.
std::string packed_cache_folder();

// Seconds and bytes measured while opening.
struct OpenFigures {
  double load_s = 0;   // weights, packed
  double vocab_s = 0;  // tokenizer
};

// What is known of a run before anything is allocated: the file, its plan, and the sum.
struct Forecast {
  std::unique_ptr<weights::ModelFile> file;
  std::vector<std::unique_ptr<weights::Adapter>> adapters;
  std::unique_ptr<codec::Tokenizer> tokenizer;  // null: no vocabulary, or none that can be used
  double vocab_s = 0;                           // seconds that reading it took
  model::LoadOptions load_options;
  model::LoadPlan load;
  kernels::Dispatch dispatch;
  xray::PlanInput input;  // input.load points to `load` of the Forecast that is asked
  xray::MemoryPlan plan;
  xray::MemoryLimit limit;

  // The plan's sum is within the limit.
  [[nodiscard]] bool fits() const { return plan.total_bytes() <= limit.bytes; }
};

// Reads the file's head and vocabulary and adds up the memory. Errors: those of
// weights::open_model, weights::apply_override, weights::open_adapter, model::plan_load,
// codec::make_tokenizer (an unknown kind of tokenizer is a warning), kernels::make_dispatch;
// kInvalidArgument for a context below 1 or above a model's learned positions; those of
// xray::pick_pages; kInvalidArgument for fast_prompts with compute_f32.
std::unique_ptr<Forecast> make_forecast(const SessionOptions& options);

class Session {
 public:
  // Errors: those of make_forecast; kOutOfMemory with the plan's sum, the limit and the largest
  // context that fits, before anything is allocated.
  static std::unique_ptr<Session> open(const SessionOptions& options);
  ~Session();

  [[nodiscard]] engine::Engine& engine();
  [[nodiscard]] model::Model& model();
  [[nodiscard]] ops::Exec& exec();

  // Rows [max_logits, n_vocab] for score(); empty when max_logits was 0.
  [[nodiscard]] const ops::Rows& score_rows() const;

  // What every operation of the steps so far took; null unless profile_ops was set.
  [[nodiscard]] xray::OpProfile* op_profile();

  // Whether engine() keeps K and V of earlier steps. Turning it on or off is possible only where
  // the session was opened with use_kv_cache = false (which opens it turned off).
  void set_kv_cache(bool is_on);

  [[nodiscard]] ThreadPool& threads();

  // nullptr for a file or folder without a vocabulary.
  [[nodiscard]] const codec::Tokenizer* tokenizer() const;

  // Ids that end an answer: the tokenizer's, or those of a folder's config files.
  [[nodiscard]] const std::vector<int32_t>& end_tokens() const;

  [[nodiscard]] const weights::ModelFile& file() const;
  [[nodiscard]] const model::LoadPlan& load_plan() const;
  [[nodiscard]] const xray::MemoryPlan& memory_plan() const;
  [[nodiscard]] const kernels::Dispatch& dispatch() const;
  [[nodiscard]] kv::PagePool& pages();
  [[nodiscard]] const OpenFigures& figures() const;
  [[nodiscard]] int64_t context() const;

  // Rows of prompts are computed with int8 per 256.
  [[nodiscard]] bool fast_prompts() const;

  // Peak bytes of each named pool, in the plan's order.
  [[nodiscard]] std::vector<std::pair<std::string, int64_t>> pool_peaks() const;

 private:
  struct Parts;

  explicit Session(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace fathom::api
