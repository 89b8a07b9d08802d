// adapter_config.json of peft: which modules an adapter changes, with which rank and scale.
// Called by weights/adapter. Read next: weights/adapter.h. Source: peft's LoraConfig, and
// get_pattern_key and check_target_module_exists for what its patterns mean.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::weights {

// A regular expression that a config gives for names of modules.
class ModulePattern {
 public:
  // Error: kUnsupported for what std::regex cannot read, counted repeats and more than 256 letters;
  // names `path` and `field`.
  ModulePattern(const std::string& text, const std::string& path, std::string_view field);

  // The whole name.
  [[nodiscard]] bool matches(std::string_view module) const;

  // The whole name, or its part behind some '.'.
  [[nodiscard]] bool matches_end(std::string_view module) const;

 private:
  std::regex whole_;
  std::regex end_;
};

// The names in target_modules or exclude_modules: one pattern, or a list of names.
struct ModuleList {
  std::optional<ModulePattern> pattern;
  std::vector<std::string> names;

  // The pattern is the whole name; one of `names` is the name, or its part behind a '.'.
  [[nodiscard]] bool contains(std::string_view module) const;
};

struct PatternValue {
  ModulePattern pattern;
  double value = 0;
};

struct AdapterConfig {
  std::string path;
  int64_t rank = 8;
  double alpha = 8;
  bool use_rslora = false;
  std::vector<PatternValue> rank_pattern, alpha_pattern;  // in the file's order
  bool takes_all = false;                                 // target_modules "all-linear"
  ModuleList targets, excluded;
  std::vector<int64_t> layers;  // layers_to_transform; empty: all
  std::vector<ModulePattern> layers_pattern;

  // The rank of a module's matrices: of the first pattern that matches its end.
  [[nodiscard]] int64_t rank_of(std::string_view module) const;

  // What its product is multiplied with: alpha / rank, with use_rslora alpha / sqrt(rank).
  [[nodiscard]] double scale_of(std::string_view module) const;

  // Whether peft would put an adapter beside this module.
  [[nodiscard]] bool is_target(std::string_view module) const;
};

// Errors: those of json.h; kCorruptFile (a rank below 1, a scale that is not finite, a value of the
// wrong type), kUnsupported naming key and value: another peft_type, DoRA, biases, modules_to_save
// and every other option with which an adapter is more than two matrices beside a module.
AdapterConfig read_adapter_config(const std::string& path);

}  // namespace fathom::weights
