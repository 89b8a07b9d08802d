// What peft's config says in many optional keys, and what none of them may say.
// Called by weights/adapter. Read next: weights/adapter.cc.
#include "weights/adapter_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/mapped_file.h"
#include "weights/byte_reader.h"
#include "weights/json.h"
#include "weights/metadata.h"

namespace fathom::weights {

namespace {

constexpr size_t kMaxConfigBytes = size_t{1} << 20;
constexpr size_t kMaxPattern = 256;
constexpr int64_t kMaxRank = 65536;
constexpr double kMaxAlpha = 1e6;

// Keys that stay null, false or empty in an adapter that is two matrices beside each module.
constexpr std::string_view kUnsupportedKeys[] = {
    "use_dora",    "lora_bias",         "modules_to_save",   "trainable_token_indices",
    "use_qalora",  "use_bdlora",        "arrow_config",      "alora_invocation_tokens",
    "kasa_config", "monteclora_config", "layer_replication", "target_parameters"};

// Ways to start a training that leave the base as it is; the others change its weights as well.
constexpr std::string_view kPlainStarts[] = {"gaussian", "eva", "orthogonal"};

// By states, not by backtracking: the time is bounded whatever an adapter's pattern says.
std::regex compile(const std::string& text) {
  return std::regex(text, std::regex_constants::ECMAScript | std::regex_constants::__polynomial);
}

[[noreturn]] void refuse(const Metadata& metadata, std::string_view key, std::string_view found,
                         std::string_view supported) {
  fail(ErrorCode::kUnsupported, fmt::format("{}: {}: found {}; adapters of this kind are not "
                                            "supported yet, supported: {}",
                                            metadata.path(), key, found, supported));
}

// The value, or how many keys lie below; nothing for null, false, no text and empty lists.
std::optional<std::string> find_set(const Metadata& metadata, std::string_view key) {
  const std::string below = fmt::format("{}.", key);
  const auto child = metadata.entries().lower_bound(below);
  if (child != metadata.entries().end() && child->first.starts_with(below)) {
    return "an object";
  }
  const auto it = metadata.entries().find(key);
  if (it == metadata.entries().end()) {
    return std::nullopt;
  }
  const bool is_empty = std::visit(
      [](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return true;
        } else if constexpr (std::is_same_v<Held, bool>) {
          return !held;
        } else if constexpr (std::is_arithmetic_v<Held>) {
          return false;
        } else {
          return held.empty();
        }
      },
      it->second);
  return is_empty ? std::nullopt : std::optional(format_value(it->second));
}

void check_kind(const Metadata& metadata) {
  const std::string kind = metadata.find_string("peft_type").value_or("none");
  if (kind != "LORA") {
    refuse(metadata, "peft_type", in_quotes(kind), "LORA");
  }
  const std::string bias = metadata.find_string("bias").value_or("none");
  if (bias != "none") {
    refuse(metadata, "bias", in_quotes(bias), "none");
  }
  for (const std::string_view key : kUnsupportedKeys) {
    if (const auto found = find_set(metadata, key)) {
      refuse(metadata, key, *found, "null, false or nothing");
    }
  }
  const auto start = metadata.entries().find("init_lora_weights");
  if (start != metadata.entries().end() && std::holds_alternative<std::string>(start->second)) {
    const std::string& name = std::get<std::string>(start->second);
    if (std::ranges::find(kPlainStarts, name) == std::end(kPlainStarts)) {
      refuse(
          metadata, "init_lora_weights", in_quotes(name),
          "true, false, gaussian, eva, orthogonal; this one changes the base model too: save the "
          "adapter converted to plain LoRA (path_initial_model_for_weight_conversion)");
    }
  } else {
    (void)metadata.find_bool("init_lora_weights");  // refuses what is neither
  }
}

// One text or a list of them.
std::vector<std::string> texts_of(const Metadata& metadata, const char* key) {
  const auto it = metadata.entries().find(key);
  if (it != metadata.entries().end() && std::holds_alternative<std::string>(it->second)) {
    return {std::get<std::string>(it->second)};
  }
  const std::vector<std::string>* list = metadata.find_strings(key);
  return list == nullptr ? std::vector<std::string>{} : *list;
}

ModuleList read_modules(const Metadata& metadata, const char* key) {
  ModuleList list;
  std::vector<std::string> texts = texts_of(metadata, key);
  const auto it = metadata.entries().find(key);
  if (it != metadata.entries().end() && std::holds_alternative<std::string>(it->second)) {
    if (!texts.front().empty()) {
      list.pattern.emplace(texts.front(), metadata.path(), key);
    }
  } else {
    list.names = std::move(texts);
  }
  return list;
}

std::vector<PatternValue> read_patterns(std::string_view text, const std::string& path,
                                        std::string_view key) {
  std::vector<PatternValue> patterns;
  for (auto& [pattern, value] : parse_number_map(text, path, key)) {
    patterns.push_back({ModulePattern(pattern, path, key), value});
  }
  return patterns;
}

void check_rank(const std::string& path, std::string_view key, double rank) {
  if (!(rank >= 1 && rank <= static_cast<double>(kMaxRank)) || rank != std::floor(rank)) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: {}: found {}, allowed 1 to {}", path, key, rank, kMaxRank));
  }
}

void check_alpha(const std::string& path, std::string_view key, double alpha) {
  if (!(std::abs(alpha) <= kMaxAlpha)) {
    fail(ErrorCode::kCorruptFile, fmt::format("{}: {}: found {}, allowed {:g} to {:g}", path, key,
                                              alpha, -kMaxAlpha, kMaxAlpha));
  }
}

void check_numbers(const AdapterConfig& config) {
  check_rank(config.path, "r", static_cast<double>(config.rank));
  check_alpha(config.path, "lora_alpha", config.alpha);
  for (const PatternValue& pattern : config.rank_pattern) {
    check_rank(config.path, "rank_pattern", pattern.value);
  }
  for (const PatternValue& pattern : config.alpha_pattern) {
    check_alpha(config.path, "alpha_pattern", pattern.value);
  }
}

void read_layers(const Metadata& metadata, AdapterConfig& config) {
  const auto it = metadata.entries().find("layers_to_transform");
  if (it != metadata.entries().end() && std::holds_alternative<int64_t>(it->second)) {
    config.layers = {std::get<int64_t>(it->second)};
  } else if (const auto* list = metadata.find_ints("layers_to_transform")) {
    config.layers = *list;
  }
  for (const std::string& text : texts_of(metadata, "layers_pattern")) {
    if (!text.empty()) {
      config.layers_pattern.emplace_back(text, config.path, "layers_pattern");
    }
  }
}

// The value of the first pattern that matches the end of the name.
double value_of(const std::vector<PatternValue>& patterns, std::string_view module,
                double otherwise) {
  const auto it = std::ranges::find_if(
      patterns, [&](const PatternValue& one) { return one.pattern.matches_end(module); });
  return it == patterns.end() ? otherwise : it->value;
}

// A part of a dotted name that is a layer's number.
std::optional<int64_t> find_number(std::string_view text) {
  if (text.empty() || text.size() > 9 ||
      !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  int64_t number = 0;
  for (const char digit : text) {
    number = 10 * number + (digit - '0');
  }
  return number;
}

// The layer that a module lies in: the first number behind a name that a pattern matches, without
// patterns behind any two parts.
std::optional<int64_t> find_layer(const AdapterConfig& config, std::string_view module) {
  int n_parts = 0;
  for (size_t start = 0, dot = module.find('.'); dot != std::string_view::npos;
       start = dot + 1, dot = module.find('.', start), ++n_parts) {
    const auto number = find_number(module.substr(start, dot - start));
    if (!number || n_parts == 0) {
      continue;
    }
    const std::string_view before = module.substr(0, start - 1);
    const bool fits = config.layers_pattern.empty()
                          ? n_parts >= 2
                          : std::ranges::any_of(config.layers_pattern, [&](const auto& pattern) {
                              return pattern.matches_end(before);
                            });
    if (fits) {
      return number;
    }
  }
  return std::nullopt;
}

}  // namespace

ModulePattern::ModulePattern(const std::string& text, const std::string& path,
                             std::string_view field) {
  const auto refuse_pattern = [&](std::string_view why) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: {}: found the pattern {}, which is not supported yet: {}", path, field,
                     in_quotes(text), why));
  };
  if (text.size() > kMaxPattern || text.find('{') != std::string::npos) {
    refuse_pattern(fmt::format("allowed {} letters without counted repeats", kMaxPattern));
  }
  try {
    whole_ = compile(text);
    end_ = compile(fmt::format("(?:.*\\.)?(?:{})", text));
  } catch (const std::regex_error& error) {
    refuse_pattern(error.what());
  }
}

bool ModulePattern::matches(std::string_view module) const {
  return std::regex_match(module.begin(), module.end(), whole_);
}

bool ModulePattern::matches_end(std::string_view module) const {
  return std::regex_match(module.begin(), module.end(), end_);
}

bool ModuleList::contains(std::string_view module) const {
  if (pattern) {
    return pattern->matches(module);
  }
  return std::ranges::any_of(names, [&](const std::string& name) {
    return module == name || module.ends_with("." + name);
  });
}

int64_t AdapterConfig::rank_of(std::string_view module) const {
  return static_cast<int64_t>(value_of(rank_pattern, module, static_cast<double>(rank)));
}

double AdapterConfig::scale_of(std::string_view module) const {
  const auto r = static_cast<double>(rank_of(module));
  return value_of(alpha_pattern, module, alpha) / (use_rslora ? std::sqrt(r) : r);
}

bool AdapterConfig::is_target(std::string_view module) const {
  if (excluded.contains(module) || !(takes_all || targets.contains(module))) {
    return false;
  }
  if (layers.empty() || targets.pattern || takes_all) {  // layers choose among listed names only
    return true;
  }
  const auto layer = find_layer(*this, module);
  return layer && std::ranges::find(layers, *layer) != layers.end();
}

AdapterConfig read_adapter_config(const std::string& path) {
  const MappedFile file(path);
  if (file.bytes().size() > kMaxConfigBytes) {
    fail(ErrorCode::kCorruptFile, fmt::format("{}: byte 0: size: found {} bytes, allowed {}", path,
                                              file.bytes().size(), kMaxConfigBytes));
  }
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  Metadata metadata(Source::kHuggingFace, path);
  flatten_json(text, path, "", metadata);
  check_kind(metadata);
  AdapterConfig config;
  config.path = path;
  config.rank = metadata.find_int("r").value_or(config.rank);
  config.alpha = metadata.find_double("lora_alpha").value_or(config.alpha);
  config.use_rslora = metadata.find_bool("use_rslora").value_or(false);
  config.rank_pattern = read_patterns(text, path, "rank_pattern");
  config.alpha_pattern = read_patterns(text, path, "alpha_pattern");
  check_numbers(config);
  config.takes_all = texts_of(metadata, "target_modules") == std::vector<std::string>{"all-linear"};
  if (!config.takes_all) {
    config.targets = read_modules(metadata, "target_modules");
  }
  config.excluded = read_modules(metadata, "exclude_modules");
  read_layers(metadata, config);
  return config;
}

}  // namespace fathom::weights
