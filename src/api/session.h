// Everything that one loaded model needs, built in order: file, plan, memory check, pools, threads, kernels, weights, pages, engine.
// Called by apps, later by the server. Read next: api/generator.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/paged_view.h"
#include "codec/tokenizer.h"
#include "engine/engine.h"
#include "kernels/dispatch.h"
#include "ops/backend.h"
#include "xray/memory_plan.h"

namespace fathom::api {

struct SessionOptions {
  std::string model_path;
  int64_t context = -1;    // -1: min(the model's, 4096)
  int n_threads = -1;      // -1: usable_cpus()
  bool compute_f32 = false;
  std::optional<PageType> page_type;  // default bf16; f32 with compute_f32
  ops::AttentionKind attention = ops::AttentionKind::kFlash;
  bool use_kv_cache = true;
  int64_t max_sequences = 1;
  int64_t max_logits = 1;
  int64_t max_batched_tokens = 512;
  model::LoadProgress progress;  // may be empty
};

// Seconds and bytes measured while opening.
struct OpenFigures {
  double load_s = 0;   // weights, packed
  double vocab_s = 0;  // tokenizer
};

class Session {
 public:
  // Errors: those of weights::open_model, model::plan_load, codec::make_tokenizer;
  // kOutOfMemory with the plan's sum, the limit and the largest context that fits, before anything is allocated.
  static std::unique_ptr<Session> open(const SessionOptions& options);
  ~Session();

  [[nodiscard]] engine::Engine& engine();
  [[nodiscard]] ops::Exec& exec();
  [[nodiscard]] ThreadPool& threads();

  // nullptr for a Hugging Face folder (ids only for now).
  [[nodiscard]] const codec::Tokenizer* tokenizer() const;

  [[nodiscard]] const weights::ModelFile& file() const;
  [[nodiscard]] const model::LoadPlan& load_plan() const;
  [[nodiscard]] const xray::MemoryPlan& memory_plan() const;
  [[nodiscard]] const kernels::Dispatch& dispatch() const;
  [[nodiscard]] const kv::PagePool& pages() const;
  [[nodiscard]] const OpenFigures& figures() const;
  [[nodiscard]] int64_t context() const;

  // Peak bytes of each named pool, in the plan's order.
  [[nodiscard]] std::vector<std::pair<std::string, int64_t>> pool_peaks() const;

 private:
  struct Parts;
  explicit Session(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace fathom::api
