// A model of a few lines in place of the real one: it writes a running hash of the tokens into the
// pages and reads it from there, so that an answer is right only if every page it was computed from
// held what it should. Called by tests of engine.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "engine/engine.h"
#include "engine/step_model.h"
#include "kv/page_pool.h"
#include "sample/sampler.h"

namespace fathom::engine::test {

inline constexpr int kToyVocab = 32;

// One layer and head with one value of K and of V: K holds the hash up to a position, V its token.
inline constexpr kv::PageShape kToyShape = {PageType::kF32, 1, 1, 1, 1};

inline uint32_t next_hash(uint32_t before, int32_t token) {
  uint32_t hash = (before ^ static_cast<uint32_t>(token + 1)) * 0x9E3779B1U;
  hash ^= hash >> 15;
  hash *= 0x85EBCA77U;
  return hash ^ (hash >> 13);
}

inline constexpr uint32_t kFirstHash = 17;

// What a row of a prompt under --arithmetic fast has in its hash: another value in the page.
inline constexpr uint32_t kFastMark = 0x51ED270BU;

inline uint32_t fast_mark(const model::StepInput& input, int64_t row) {
  const bool is_fast = !input.fast_rows.empty() && input.fast_rows[static_cast<size_t>(row)];
  return is_fast ? kFastMark : 0U;
}

inline void fill_logits(uint32_t hash, std::span<float> logits) {
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(next_hash(hash, static_cast<int32_t>(i)) % 4096) / 512.0F;
  }
}

struct Slot {
  uint32_t hash = 0;
  int32_t token = 0;
};

inline Slot read_slot(const kv::PagePool& pool, int32_t page, int64_t position) {
  const PagedView view = pool.view(0);
  const auto offset = static_cast<size_t>(position % kPageTokens) * 4;
  Slot slot;
  std::memcpy(&slot.hash, view.k_of(page, 0) + offset, 4);
  std::memcpy(&slot.token, view.v_of(page, 0) + offset, 4);
  return slot;
}

class ToyModel final : public StepModel {
 public:
  ToyModel(const kv::PagePool& pool, const model::StepLimits& limits)
      : pool_(&pool), limits_(limits) {}

  void forward(const model::StepInput& input, const ops::Rows& logits) override {
    if (on_forward) {
      on_forward(input);
    }
    hashes_.clear();
    for (const ops::SequenceRows& rows : input.sequences) {
      for (int64_t i = 0; i < rows.n_rows; ++i) {
        const int64_t position = rows.first_position + i;
        uint32_t hash = kFirstHash;
        if (position > 0) {
          hash = read_slot(*pool_, rows.pages[static_cast<size_t>((position - 1) / kPageTokens)],
                           position - 1)
                     .hash;
        }
        const int32_t token = input.token_ids[static_cast<size_t>(rows.first_row + i)];
        hash = next_hash(hash ^ fast_mark(input, rows.first_row + i), token);
        write(rows.pages[static_cast<size_t>(position / kPageTokens)], position, {hash, token});
        hashes_.push_back(hash);
      }
    }
    for (size_t i = 0; i < input.logit_rows.size(); ++i) {
      fill_logits(hashes_[static_cast<size_t>(input.logit_rows[i])],
                  {logits.row(static_cast<int64_t>(i)), static_cast<size_t>(logits.n_cols)});
    }
  }

  std::optional<ops::NumericFault> take_fault() override { return std::exchange(fault, {}); }

  [[nodiscard]] int64_t n_vocab() const override { return kToyVocab; }

  [[nodiscard]] model::StepLimits limits() const override { return limits_; }

  [[nodiscard]] bool allows_more_than(int64_t /*context*/) const override { return true; }

  [[nodiscard]] int64_t rope_id(int64_t /*planned_length*/) const override { return 0; }

  std::function<void(const model::StepInput&)> on_forward;  // sees every step; may be empty
  std::optional<ops::NumericFault> fault;                   // reported once

 private:
  void write(int32_t page, int64_t position, const Slot& slot) {
    const PagedView view = pool_->view(0);
    const auto offset = static_cast<size_t>(position % kPageTokens) * 4;
    std::memcpy(view.k_of(page, 0) + offset, &slot.hash, 4);
    std::memcpy(view.v_of(page, 0) + offset, &slot.token, 4);
  }

  const kv::PagePool* pool_;
  model::StepLimits limits_;
  std::vector<uint32_t> hashes_;
};

// The first `n_tokens` tokens that a request must get, without engine, pages or batch.
inline std::vector<int32_t> toy_answer(const Request& request, int64_t n_tokens,
                                       bool is_fast = false) {
  sample::Sampler sampler(request.sampling, kToyVocab);
  std::vector<int32_t> tokens = request.prompt;
  uint32_t hash = kFirstHash;
  for (const int32_t token : tokens) {
    hash = next_hash(hash ^ (is_fast ? kFastMark : 0U), token);
  }
  std::vector<float> logits(kToyVocab);
  std::vector<int32_t> answer;
  while (std::ssize(answer) < n_tokens) {
    fill_logits(hash, logits);
    const int32_t id = sampler.sample(logits, tokens, std::ssize(tokens), request.choice).id;
    answer.push_back(id);
    tokens.push_back(id);
    hash = next_hash(hash, id);
  }
  return answer;
}

// Collects what a request produced.
class ToySink : public TextSink {
 public:
  void on_prompt(std::span<const sample::Sampled> logprobs) override {
    prompt.assign(logprobs.begin(), logprobs.end());
    ++n_prompts;
  }

  bool on_token(const TokenEvent& event) override {
    ids.push_back(event.id);
    return stop_after < 0 || std::ssize(ids) < stop_after;
  }

  void on_finish(FinishReason why, const Usage& use, std::string_view text) override {
    ++n_finished;
    reason = why;
    usage = use;
    message = text;
  }

  std::vector<sample::Sampled> prompt;
  int n_prompts = 0;
  std::vector<int32_t> ids;
  int64_t stop_after = -1;
  int n_finished = 0;
  FinishReason reason = FinishReason::kError;
  Usage usage;
  std::string message;
};

// An engine over the toy, with a clock that stands still until it is moved.
struct ToyBench {
  explicit ToyBench(EngineOptions options, int64_t n_pages = 16)
      : memory("kv", static_cast<size_t>(kv::pool_bytes(kToyShape, n_pages))),
        scratch("scratch", 1U << 20U),
        pages(memory, kToyShape, n_pages),
        model(pages, {.max_tokens = options.max_batched_tokens,
                      .max_logits = std::max(options.max_sequences, options.max_logits)}),
        engine(model, pages, scratch, with_clock(std::move(options))) {}

  // Steps until all have ended; false when `limit` steps were not enough.
  bool run(int64_t limit = 100'000) {
    for (int64_t step = 0; step < limit; ++step) {
      if (!engine.step()) {
        return true;
      }
      pages.self_check();
    }
    return false;
  }

  EngineOptions with_clock(EngineOptions options) {
    options.now = [this] { return time; };
    return options;
  }

  Clock::time_point time = Clock::time_point() + std::chrono::hours(1);
  MemoryPool memory;
  MemoryPool scratch;
  kv::PagePool pages;
  ToyModel model;
  Engine engine;
};

inline Request toy_request(int64_t n_prompt, int32_t seed, int64_t max_tokens) {
  Request request;
  for (int64_t i = 0; i < n_prompt; ++i) {
    request.prompt.push_back(static_cast<int32_t>(
        next_hash(static_cast<uint32_t>(seed), static_cast<int32_t>(i)) % kToyVocab));
  }
  request.sampling.temperature = 1;
  request.sampling.top_k = 0;
  request.sampling.seed = static_cast<uint64_t>(seed);
  request.max_tokens = max_tokens;
  return request;
}

}  // namespace fathom::engine::test
