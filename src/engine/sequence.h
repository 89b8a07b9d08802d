// One request that was queued, in its running form: ids, counters, pages and sampler.
// Called by engine/engine, engine/page_keeper, engine/batch. Read next: kv/page_table.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/request.h"
#include "engine/scheduler.h"
#include "kv/page_table.h"
#include "kv/prefix_key.h"
#include "sample/sampler.h"

namespace fathom::engine {

class Sequence {
 public:
  Sequence(RequestId id, Request request, TextSink& sink, kv::PagePool& pages,
           kv::PrefixScope scope, int64_t n_vocab, int64_t planned_length)
      : id_(id),
        request_(std::move(request)),
        sink_(&sink),
        tokens_(request_.prompt),
        pages_(pages, scope.header, id),
        key_(std::move(scope)),
        n_vocab_(n_vocab),
        planned_length_(planned_length) {}

  [[nodiscard]] RequestId id() const { return id_; }

  [[nodiscard]] const Request& request() const { return request_; }

  [[nodiscard]] TextSink& sink() { return *sink_; }

  // What the model sees: prompt and generated ids, without those that shifts have dropped. The last
  // generated one is not computed yet.
  [[nodiscard]] const std::vector<int32_t>& tokens() const { return tokens_; }

  [[nodiscard]] int64_t n_tokens() const { return static_cast<int64_t>(tokens_.size()); }

  [[nodiscard]] int64_t n_prompt() const { return static_cast<int64_t>(request_.prompt.size()); }

  // How many of tokens(), from the first on, are the prompt's: fewer than n_prompt() after shifts.
  [[nodiscard]] int64_t n_prompt_left() const {
    const int64_t keep = std::min(request_.n_keep, n_prompt());
    return n_dropped_ > 0 ? std::max(keep, n_prompt() - n_dropped_) : n_prompt();
  }

  // All of them, dropped ones too.
  [[nodiscard]] const std::vector<int32_t>& history() const {
    return n_dropped_ > 0 ? history_ : tokens_;
  }

  [[nodiscard]] int64_t n_generated() const { return std::ssize(history()) - n_prompt(); }

  // Prompt and all that may be generated: frozen at submission, chooses length-dependent ropes.
  [[nodiscard]] int64_t planned_length() const { return planned_length_; }

  // Log probabilities of the prompt's tokens are asked for and not complete.
  [[nodiscard]] bool wants_prompt_logprobs() const {
    return request_.n_prompt_logprobs >= 0 && !gave_prompt_logprobs;
  }

  // Positions [0, num_computed) have their K and V in the pages.
  int64_t num_computed = 0;
  Rank rank;
  int64_t last_step = 0;  // in which it had rows
  RequestId leader = 0;   // another choice that computes the prompt for this one; 0: none
  bool has_followers = false;
  bool was_admitted = false;
  bool is_running = false;
  bool cancelled = false;    // asked for; ends at the next step border
  bool is_finished = false;  // its sink got on_finish; it leaves its queue at the step's end
  bool gave_prompt_logprobs = false;
  std::vector<sample::Sampled> prompt_logprobs;  // of tokens 1, 2, ...
  Usage usage;
  Clock::time_point submitted;
  Clock::time_point admitted;
  Clock::time_point first_token;

  [[nodiscard]] kv::PageTable& pages() { return pages_; }

  [[nodiscard]] const kv::PageTable& pages() const { return pages_; }

  [[nodiscard]] kv::PrefixKey& key() { return key_; }

  // Made when it is first asked for: those that wait need none.
  [[nodiscard]] sample::Sampler& sampler() {
    if (!sampler_) {
      sampler_.emplace(request_.sampling, n_vocab_);
    }
    return *sampler_;
  }

  void append(int32_t id) {
    tokens_.push_back(id);
    if (n_dropped_ > 0) {
      history_.push_back(id);
    }
  }

  // Makes room in a context that is full: drops half of the tokens behind the first n_keep of the
  // prompt. Those left get new positions, so that all are to be computed again: the answer goes on
  // as it would behind them alone, whatever the architecture.
  //
  //   [ n_keep | dropped ....... | kept ........ ]      ->  [ n_keep | kept ........ ]
  void shift(int64_t context) {
    const int64_t keep = std::min(request_.n_keep, n_prompt());
    const int64_t n_drop = std::max<int64_t>(1, (context - keep) / 2);
    if (n_dropped_ == 0) {
      history_ = tokens_;
    }
    n_dropped_ += n_drop;
    tokens_.erase(tokens_.begin() + keep, tokens_.begin() + keep + n_drop);
    key_ = kv::PrefixKey(key_.scope());
    ++usage.n_shifts;
  }

 private:
  RequestId id_;
  Request request_;
  TextSink* sink_;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> history_;  // of one that has shifted
  int64_t n_dropped_ = 0;
  kv::PageTable pages_;
  kv::PrefixKey key_;
  std::optional<sample::Sampler> sampler_;
  int64_t n_vocab_;
  int64_t planned_length_;
};

}  // namespace fathom::engine
