// What `fathom bench` was told, and one measured run.
// Called by bench.cc, bench_ops.cc. Read next: machine_limits.h.
#pragma once

#include <cstdint>

#include "api/session.h"
#include "options.h"

namespace fathom::app {

struct BenchFlags {
  ModelFlags model;
  int64_t n_prompt = 512;
  int64_t n_generate = 128;
  int repetitions = 5;
  bool ops = false;
  bool as_json = false;
};

// Seconds of one greedy request: n_prompt + n_generate - 1 rows. Error: kInternal for a numeric
// fault.
double run_seconds(api::Session& session, int64_t n_prompt, int64_t n_generate);

}  // namespace fathom::app
