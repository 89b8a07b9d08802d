// One running request: its ids, counters, pages and sampler.
// Called by engine/engine, engine/batch. Read next: kv/page_table.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/request.h"
#include "kv/page_table.h"
#include "sample/sampler.h"

namespace fathom::engine {

class Sequence {
 public:
  Sequence(RequestId id, Request request, TextSink& sink, kv::PagePool& pages,
           kv::PageHeader header, int64_t n_vocab, int64_t planned_length)
      : id_(id),
        request_(std::move(request)),
        sink_(&sink),
        tokens_(request_.prompt),
        pages_(pages, header),
        sampler_(request_.sampling, n_vocab),
        planned_length_(planned_length) {}

  [[nodiscard]] RequestId id() const { return id_; }

  [[nodiscard]] const Request& request() const { return request_; }

  [[nodiscard]] TextSink& sink() { return *sink_; }

  // Prompt and generated ids; the last generated one is not computed yet.
  [[nodiscard]] const std::vector<int32_t>& tokens() const { return tokens_; }

  [[nodiscard]] int64_t n_tokens() const { return static_cast<int64_t>(tokens_.size()); }

  [[nodiscard]] int64_t n_generated() const {
    return n_tokens() - static_cast<int64_t>(request_.prompt.size());
  }

  // Prompt and all that may be generated: frozen at admission, chooses length-dependent ropes.
  [[nodiscard]] int64_t planned_length() const { return planned_length_; }

  // Positions [0, num_computed) have their K and V in the pages.
  int64_t num_computed = 0;
  bool cancelled = false;
  Usage usage;
  Clock::time_point admitted;
  Clock::time_point first_token;

  [[nodiscard]] kv::PageTable& pages() { return pages_; }

  [[nodiscard]] sample::Sampler& sampler() { return sampler_; }

  void append(int32_t id) { tokens_.push_back(id); }

 private:
  RequestId id_;
  Request request_;
  TextSink* sink_;
  std::vector<int32_t> tokens_;
  kv::PageTable pages_;
  sample::Sampler sampler_;
  int64_t planned_length_;
};

}  // namespace fathom::engine
