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
  int64_t n_sequences = 1;  // that decode side by side
  int64_t depth = 0;        // positions that each of them holds before decode is measured
  int repetitions = 5;
  bool ops = false;
  bool as_json = false;
};

// Positions that a sequence of decode_seconds needs.
int64_t decode_context(const BenchFlags& flags);

struct DecodeSeconds {
  double prompts = 0;  // until each sequence has its first token
  double decode = 0;   // n_generate steps from there
};

// n_sequences greedy requests with prompts of `depth` tokens, at least one. Error: as run_seconds.
DecodeSeconds decode_seconds(api::Session& session, const BenchFlags& flags);

// Seconds of one greedy request: n_prompt + n_generate - 1 rows. Error: kInternal for a numeric
// fault.
double run_seconds(api::Session& session, int64_t n_prompt, int64_t n_generate);

}  // namespace fathom::app
