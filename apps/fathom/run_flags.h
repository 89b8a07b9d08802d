// Everything that `fathom run` was told. Called by run.cc, chat_loop.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/generator.h"
#include "options.h"
#include "prompt.h"

namespace fathom::app {

struct RunFlags {
  ModelFlags model;
  SamplingFlags sampling;
  PromptFlags prompt;
  int64_t max_tokens = -1;
  std::vector<std::string> stops;
  bool ignore_eos = false;
  bool as_json = false;
  bool trace = false;
  bool check_nan = false;
  bool no_kv_cache = false;
  bool check_pages = false;
};

// The request for `ids`, without callbacks.
api::GenerateOptions generate_options(const RunFlags& flags, std::vector<int32_t> ids);

}  // namespace fathom::app
