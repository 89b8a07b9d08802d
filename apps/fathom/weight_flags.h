// Options about the weights that every command with a model has: adapters, overrides of the file's
// keys, a check of its values. Called by options.cc, inspect.cc, tokenize.cc. Read next:
// weight_flags.cc.
#pragma once

#include <string>
#include <vector>

#include "api/session.h"
#include "command_line.h"

namespace fathom::app {

struct WeightFlags {
  std::vector<std::string> adapters;  // DIR[=SCALE]
  bool merge_adapters = false;
  std::vector<std::string> overrides;  // KEY=VALUE
  bool check_tensors = false;
  bool packed_cache = false;
};

// --lora --merge-lora --override --check-tensors --packed-cache
void add_weight_flags(CommandLine& app, WeightFlags& flags);

// --override alone, for commands that read no weights.
Option* add_override_flag(CommandLine& app, WeightFlags& flags);

// "DIR" or "DIR=SCALE": what follows the last '=' is a scale when it is a number. Error: UsageError
// for an empty folder, and for a scale beyond model::kMaxAdapterScale.
api::AdapterPath parse_adapter(const std::string& text);

// With a bar on a terminal while values are checked.
void set_weight_options(const WeightFlags& flags, api::SessionOptions& options);

}  // namespace fathom::app
