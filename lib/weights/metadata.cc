// Typed look-ups with errors that name file, key, found and expected type.
// Called by model/arch, codec, apps/inspect. Read next: weights/gguf.cc, which fills it.
#include "weights/metadata.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "weights/byte_reader.h"

namespace fathom::weights {

namespace {

constexpr size_t kPrintedEntries = 6;

// In the order of MetadataValue's alternatives.
std::string_view type_name(const MetadataValue& value) {
  static constexpr std::string_view kNames[] = {"null",
                                                "a bool",
                                                "an integer",
                                                "an unsigned integer",
                                                "a number",
                                                "a string",
                                                "an array of bools",
                                                "an array of integers",
                                                "an array of numbers",
                                                "an array of strings"};
  static_assert(std::size(kNames) == std::variant_size_v<MetadataValue>);
  return kNames[value.index()];
}

std::string_view kind_name(Container kind) {
  return kind == Container::kObject ? "an object" : "a list of several kinds";
}

[[noreturn]] void fail_kind(const Metadata& metadata, std::string_view key, std::string_view found,
                            std::string_view expected) {
  fail(ErrorCode::kCorruptFile,
       fmt::format("{}: key '{}': found {}, expected {}; the file was written wrongly",
                   metadata.path(), key, found, expected));
}

[[noreturn]] void fail_type(const Metadata& metadata, std::string_view key,
                            const MetadataValue& found, std::string_view expected) {
  fail_kind(metadata, key, fmt::format("{} ({})", type_name(found), format_value(found)), expected);
}

// JSON's `[]` has no element type; it reads as an empty array of any type.
bool is_empty_array(const MetadataValue& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (requires { v.empty(); } &&
                      !std::is_same_v<std::decay_t<decltype(v)>, std::string>) {
          return v.empty();
        } else {
          return false;
        }
      },
      value);
}

[[noreturn]] void fail_missing(const Metadata& metadata, std::string_view key) {
  fail(
      ErrorCode::kCorruptFile,
      fmt::format("{}: key '{}' is missing; the file is incomplete or was made for another program",
                  metadata.path(), key));
}

template <class T>
std::string format_one(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return in_quotes(value);
  } else {
    return fmt::format("{}", value);
  }
}

template <class T>
std::string format_array(const std::vector<T>& values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size() && i < kPrintedEntries; ++i) {
    out += (i == 0 ? "" : ", ") + format_one<T>(values[i]);
  }
  if (values.size() > kPrintedEntries) {
    out += fmt::format(", ... ({} entries)", values.size());
  }
  return out + "]";
}

}  // namespace

void Metadata::set(std::string key, MetadataValue value) {
  containers_.erase(key);
  int_copies_.erase(key);
  double_copies_.erase(key);
  if (const auto* bools = std::get_if<std::vector<bool>>(&value)) {
    int_copies_.emplace(key, std::vector<int64_t>(bools->begin(), bools->end()));
  }
  const auto* ints = std::get_if<std::vector<int64_t>>(&value);
  if (ints != nullptr && source_ == Source::kHuggingFace) {
    double_copies_.emplace(key, std::vector<double>(ints->begin(), ints->end()));
  }
  entries_.insert_or_assign(std::move(key), std::move(value));
}

void Metadata::set_container(std::string key, Container kind) {
  containers_.insert_or_assign(std::move(key), kind);
}

std::optional<Container> Metadata::find_container(std::string_view key) const {
  const auto it = containers_.find(key);
  return it == containers_.end() ? std::nullopt : std::optional(it->second);
}

void Metadata::erase(std::string_view key) {
  const auto is_below = [key](const auto& entry) {
    const std::string_view name = entry.first;
    return name.starts_with(key) && (name.size() == key.size() || name[key.size()] == '.');
  };
  std::erase_if(entries_, is_below);
  std::erase_if(containers_, is_below);
  std::erase_if(int_copies_, is_below);
  std::erase_if(double_copies_, is_below);
}

const std::set<std::string, std::less<>>& Metadata::record_reads() {
  is_recording_ = true;
  return keys_read_;
}

void Metadata::stop_recording() {
  is_recording_ = false;
}

bool Metadata::contains(std::string_view key) const {
  if (is_recording_) {
    keys_read_.emplace(key);
  }
  return entries_.contains(key);
}

const MetadataValue* Metadata::find_value(std::string_view key, std::string_view expected) const {
  if (is_recording_) {
    keys_read_.emplace(key);
  }
  if (const auto it = entries_.find(key); it != entries_.end()) {
    return std::holds_alternative<std::monostate>(it->second) ? nullptr : &it->second;
  }
  if (const auto it = containers_.find(key); it != containers_.end()) {
    fail_kind(*this, key, kind_name(it->second), expected);
  }
  if (source_ == Source::kHuggingFace) {  // dots of GGUF's keys are letters of their names
    check_above(key);
  }
  return nullptr;
}

// Of "a.b.c", which is not there, neither "a" nor "a.b" is a value or a list.
void Metadata::check_above(std::string_view key) const {
  for (size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1)) {
    const std::string_view above = key.substr(0, dot);
    const std::string expected = fmt::format("an object, with the key '{}'", key.substr(dot + 1));
    const auto value = entries_.find(above);
    if (value != entries_.end() && !std::holds_alternative<std::monostate>(value->second)) {
      fail_type(*this, above, value->second, expected);
    }
    const auto container = containers_.find(above);
    if (container != containers_.end() && container->second == Container::kList) {
      fail_kind(*this, above, kind_name(Container::kList), expected);
    }
  }
}

std::optional<int64_t> Metadata::find_int(std::string_view key) const {
  const MetadataValue* value = find_value(key, "an integer");
  if (value == nullptr) {
    return std::nullopt;
  }
  if (const auto* i = std::get_if<int64_t>(value)) {
    return *i;
  }
  if (const auto* u = std::get_if<uint64_t>(value)) {
    if (*u <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return static_cast<int64_t>(*u);
    }
    fail_type(*this, key, *value, "an integer below 2^63");
  }
  if (const auto* d = std::get_if<double>(value)) {
    if (std::abs(*d) < 9.0e18 && std::trunc(*d) == *d) {
      return static_cast<int64_t>(*d);
    }
  }
  fail_type(*this, key, *value, "an integer");
}

std::optional<double> Metadata::find_double(std::string_view key) const {
  const MetadataValue* value = find_value(key, "a number");
  if (value == nullptr) {
    return std::nullopt;
  }
  if (const auto* d = std::get_if<double>(value)) {
    return *d;
  }
  if (const auto* i = std::get_if<int64_t>(value)) {
    return static_cast<double>(*i);
  }
  if (const auto* u = std::get_if<uint64_t>(value)) {
    return static_cast<double>(*u);
  }
  fail_type(*this, key, *value, "a number");
}

std::optional<bool> Metadata::find_bool(std::string_view key) const {
  const MetadataValue* value = find_value(key, "a bool");
  if (value == nullptr) {
    return std::nullopt;
  }
  if (const auto* b = std::get_if<bool>(value)) {
    return *b;
  }
  fail_type(*this, key, *value, "a bool");
}

std::optional<std::string> Metadata::find_string(std::string_view key) const {
  const MetadataValue* value = find_value(key, "a string");
  if (value == nullptr) {
    return std::nullopt;
  }
  if (const auto* s = std::get_if<std::string>(value)) {
    return *s;
  }
  fail_type(*this, key, *value, "a string");
}

const std::vector<std::string>* Metadata::find_strings(std::string_view key) const {
  static const std::vector<std::string> kEmpty;
  const MetadataValue* value = find_value(key, "an array of strings");
  if (value == nullptr) {
    return nullptr;
  }
  if (const auto* strings = std::get_if<std::vector<std::string>>(value)) {
    return strings;
  }
  if (is_empty_array(*value)) {
    return &kEmpty;
  }
  fail_type(*this, key, *value, "an array of strings");
}

const std::vector<int64_t>* Metadata::find_ints(std::string_view key) const {
  static const std::vector<int64_t> kEmpty;
  const MetadataValue* value = find_value(key, "an array of integers");
  if (value == nullptr) {
    return nullptr;
  }
  if (const auto* ints = std::get_if<std::vector<int64_t>>(value)) {
    return ints;
  }
  if (std::holds_alternative<std::vector<bool>>(*value)) {
    return &int_copies_.find(key)->second;
  }
  if (is_empty_array(*value)) {
    return &kEmpty;
  }
  fail_type(*this, key, *value, "an array of integers");
}

const std::vector<double>* Metadata::find_doubles(std::string_view key) const {
  static const std::vector<double> kEmpty;
  const MetadataValue* value = find_value(key, "an array of numbers");
  if (value == nullptr) {
    return nullptr;
  }
  if (const auto* doubles = std::get_if<std::vector<double>>(value)) {
    return doubles;
  }
  if (const auto copy = double_copies_.find(key); copy != double_copies_.end()) {
    return &copy->second;
  }
  if (is_empty_array(*value)) {
    return &kEmpty;
  }
  fail_type(*this, key, *value, "an array of numbers");
}

int64_t Metadata::get_int(std::string_view key) const {
  const std::optional<int64_t> value = find_int(key);
  if (!value) {
    fail_missing(*this, key);
  }
  return *value;
}

double Metadata::get_double(std::string_view key) const {
  const std::optional<double> value = find_double(key);
  if (!value) {
    fail_missing(*this, key);
  }
  return *value;
}

std::string Metadata::get_string(std::string_view key) const {
  std::optional<std::string> value = find_string(key);
  if (!value) {
    fail_missing(*this, key);
  }
  return *std::move(value);
}

std::string format_value(const MetadataValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "null";
        } else if constexpr (requires { v.begin(); } && !std::is_same_v<T, std::string>) {
          return format_array(v);
        } else {
          return format_one(v);
        }
      },
      value);
}

}  // namespace fathom::weights
