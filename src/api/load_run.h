// Puts load on a server: so many clients that each wait for their answer, or arrivals at random.
// Called by apps/fathom/bench_serve.cc. Read next: load_run.cc, api/load_client.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "api/load_client.h"

namespace fathom::api {

// Counts drawn evenly from lowest to highest.
struct CountRange {
  int64_t lowest = 1;
  int64_t highest = 1;
};

struct LoadPlan {
  LoadTarget target;
  std::string model;
  bool is_chat = false;
  bool ignore_eos = false;  // an extension that not every server has
  CountRange prompt_words = {230, 230};
  CountRange max_tokens = {128, 128};
  int64_t shared_words = 0;  // at the begin of every prompt, the same for all
  int64_t n_requests = 64;
  int64_t n_clients = 16;  // closed loop
  double rate_per_s = 0;   // above 0: open loop, Poisson arrivals, a thread for each request
  uint64_t seed = 1;
};

struct LoadResult {
  int64_t n_clients = 0;  // 0: open loop
  double rate_per_s = 0;  // of arrivals, open loop
  double wall_s = 0;      // from the first request to the last answer
  std::vector<LoadSample> samples;
};

// The body of request `i`: the same for the same plan, whatever the order of sending.
std::string load_body(const LoadPlan& plan, int64_t i);

// `progress` (may be empty) gets how many are done, from the caller's thread.
LoadResult run_load(const LoadPlan& plan, const std::function<void(int64_t)>& progress);

}  // namespace fathom::api
