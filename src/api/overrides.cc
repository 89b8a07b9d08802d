// Which keys a model reads is found by letting everything that reads keys read them.
// Read next: weights/metadata.h (record_reads), model/arch/registry.h.
#include "api/overrides.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "api/model_sampling.h"
#include "base/error.h"
#include "codec/tokenizer.h"
#include "model/arch/registry.h"
#include "weights/metadata_override.h"

namespace fathom::api {

namespace {

using Keys = std::set<std::string, std::less<>>;

constexpr size_t kMostSuggestions = 3;

// What ends an answer, for files without a vocabulary.
constexpr std::string_view kEndKeys[] = {"generation.eos_token_id", "eos_token_id",
                                         "tokenizer.ggml.eos_token_id"};

std::string key_of(std::string_view text) {
  return std::string(text.substr(0, text.find('=')));
}

// A value, or an object or list of them.
bool is_there(const weights::Metadata& metadata, std::string_view key) {
  const std::string below = fmt::format("{}.", key);
  const auto child = metadata.entries().lower_bound(below);
  return metadata.contains(key) || metadata.find_container(key) ||
         (child != metadata.entries().end() && child->first.starts_with(below));
}

// All keys that a run of this file looks for. Error: that of the architecture's config.
Keys keys_read(weights::ModelFile& file, bool with_tokenizer) {
  weights::Metadata& metadata = file.metadata;
  const Keys& recorded = metadata.record_reads();
  try {
    (void)model::find_arch(metadata).read_config(model::ConfigReader(file));
    (void)read_model_sampling(metadata);
    if (with_tokenizer) {
      (void)codec::make_tokenizer(metadata);
    }
  } catch (const Error&) {
    metadata.stop_recording();
    throw;
  }
  metadata.stop_recording();
  Keys keys = recorded;
  keys.insert(std::begin(kEndKeys), std::end(kEndKeys));
  return keys;
}

// Letters to insert, remove or replace. Source: Wagner and Fischer, 1974.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t k = 0; k < b.size(); ++k) {
      const size_t replaced = diagonal + static_cast<size_t>(a[i] != b[k]);
      diagonal = std::exchange(row[k + 1], std::min({replaced, row[k] + 1, row[k + 1] + 1}));
    }
  }
  return row.back();
}

// The keys that `key` may have been meant to be, the nearest first.
std::vector<std::string> nearest(const weights::Metadata& metadata, const Keys& read,
                                 std::string_view key) {
  std::vector<std::pair<size_t, std::string>> near;
  const auto add = [&](const std::string& other) {
    const size_t distance = edit_distance(key, other);
    if (distance <= std::max<size_t>(2, key.size() / 3)) {
      near.emplace_back(distance, other);
    }
  };
  for (const auto& [name, value] : metadata.entries()) {
    add(name);
  }
  for (const std::string& name : read) {
    if (!metadata.contains(name)) {
      add(name);
    }
  }
  std::ranges::sort(near);
  std::vector<std::string> names;
  for (const auto& [distance, name] : near) {
    if (names.size() < kMostSuggestions) {
      names.push_back(name);
    }
  }
  return names;
}

void check_new_keys(weights::ModelFile& file, const Keys& new_keys) {
  const bool with_tokenizer = file.metadata.contains("tokenizer.ggml.model") &&
                              std::ranges::any_of(new_keys, [](const auto& key) {
                                return key.starts_with("tokenizer.") || key.starts_with("general.");
                              });
  Keys read;
  try {
    read = keys_read(file, with_tokenizer);
  } catch (const Error&) {
    return;  // whoever makes a model of the file says why
  }
  for (const std::string& key : new_keys) {
    if (read.contains(key)) {
      continue;
    }
    for (const std::string& added : new_keys) {
      file.metadata.erase(added);  // the file as it was
    }
    const std::vector<std::string> near = nearest(file.metadata, read, key);
    fail(ErrorCode::kInvalidArgument,
         fmt::format("override of key '{}': {} has no such key, and a model of its kind reads none "
                     "of that name; expected {}",
                     key, file.metadata.path(),
                     near.empty() ? std::string("a key that `fathom inspect` prints")
                                  : fmt::format("a key that `fathom inspect` prints; near it: {}",
                                                fmt::join(near, ", "))));
  }
}

}  // namespace

void apply_overrides(weights::ModelFile& file, std::span<const std::string> texts) {
  Keys new_keys;
  for (const std::string& text : texts) {
    const std::string key = key_of(text);
    if (!is_there(file.metadata, key)) {
      new_keys.insert(key);
    }
    weights::apply_override(file.metadata, text);
  }
  if (!new_keys.empty()) {
    check_new_keys(file, new_keys);
  }
}

}  // namespace fathom::api
