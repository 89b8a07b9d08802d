// One reader per type of entry; what has no type yet is read as JSON.
// Called by apps. Read next: weights/metadata.cc, weights/json.cc.
#include "weights/metadata_override.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "weights/byte_reader.h"
#include "weights/json.h"

namespace fathom::weights {

namespace {

// The whole text as a number of type T, or nothing.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (text.empty() || result.ec != std::errc() || result.ptr != end) {
    return std::nullopt;
  }
  return value;
}

// A JSON scalar, or an array whose scalars are of one kind; nothing for any other text.
std::optional<MetadataValue> parse_json(std::string_view text) {
  Metadata parsed(Source::kHuggingFace, "override");
  try {
    flatten_json(fmt::format("{{\"v\":{}}}", text), "override", "", parsed);
  } catch (const Error&) {
    return std::nullopt;  // the caller names the key
  }
  const auto it = parsed.entries().find("v");
  const bool is_one = parsed.entries().size() == 1 && it != parsed.entries().end();
  return is_one ? std::optional(it->second) : std::nullopt;
}

// Reads the value of one override.
class OverrideReader {
 public:
  OverrideReader(const Metadata& metadata, std::string_view key, std::string_view text)
      : metadata_(metadata), key_(key), text_(text) {}

  [[nodiscard]] MetadataValue read() const {
    const auto it = metadata_.entries().find(key_);
    if (it == metadata_.entries().end()) {
      check_no_children();
      return read_new();
    }
    return std::visit([this](const auto& old) { return read_like(old); }, it->second);
  }

 private:
  [[noreturn]] void fail_text(std::string_view expected) const {
    fail(ErrorCode::kInvalidArgument, fmt::format("override of key '{}': found {}, expected {}",
                                                  key_, in_quotes(text_), expected));
  }

  // A key with keys below it is no value itself.
  void check_no_children() const {
    const std::string prefix = fmt::format("{}.", key_);
    const auto below = metadata_.entries().lower_bound(prefix);
    if (below != metadata_.entries().end() && below->first.starts_with(prefix)) {
      fail_text(
          fmt::format("null, or one override for each key below it, such as {}=...", below->first));
    }
  }

  [[nodiscard]] MetadataValue read_new() const {
    std::optional<MetadataValue> value = parse_json(text_);
    if (!value) {
      fail_text(
          "a JSON scalar or array of scalars, since the file has no such key; a text needs "
          "its quotes");
    }
    return *std::move(value);
  }

  [[nodiscard]] MetadataValue read_like(std::monostate) const { return read_new(); }

  [[nodiscard]] MetadataValue read_like(bool) const {
    if (text_ != "true" && text_ != "false") {
      fail_text("true or false");
    }
    return text_ == "true";
  }

  [[nodiscard]] MetadataValue read_like(int64_t) const {
    if (const std::optional<int64_t> value = parse_number<int64_t>(text_)) {
      return *value;
    }
    const bool is_json = metadata_.source() == Source::kHuggingFace;
    const std::optional<double> value = is_json ? parse_number<double>(text_) : std::nullopt;
    if (!value) {
      fail_text(is_json ? "a number" : "an integer");
    }
    return *value;
  }

  [[nodiscard]] MetadataValue read_like(uint64_t) const {
    const std::optional<uint64_t> value = parse_number<uint64_t>(text_);
    if (!value) {
      fail_text("an unsigned integer");
    }
    return *value;
  }

  [[nodiscard]] MetadataValue read_like(double) const {
    const std::optional<double> value = parse_number<double>(text_);
    if (!value) {
      fail_text("a number");
    }
    return *value;
  }

  [[nodiscard]] MetadataValue read_like(const std::string&) const { return std::string(text_); }

  template <class T>
  [[nodiscard]] MetadataValue read_like(const std::vector<T>&) const {
    std::optional<MetadataValue> value = parse_json(text_);
    if (value && std::holds_alternative<std::vector<T>>(*value)) {
      return *std::move(value);
    }
    const auto* whole = value ? std::get_if<std::vector<int64_t>>(&*value) : nullptr;
    const bool is_float = std::is_same_v<T, double>;
    if (whole == nullptr || (!is_float && !whole->empty())) {
      fail_text(fmt::format("a JSON array of {}, such as the file has", kind<T>()));
    }
    std::vector<T> result;
    if constexpr (std::is_same_v<T, double>) {
      result.assign(whole->begin(), whole->end());
    }
    return result;
  }

  template <class T>
  static std::string_view kind() {
    if constexpr (std::is_same_v<T, bool>) {
      return "bools";
    } else if constexpr (std::is_same_v<T, int64_t>) {
      return "integers";
    } else if constexpr (std::is_same_v<T, double>) {
      return "numbers";
    } else {
      return "strings";
    }
  }

  const Metadata& metadata_;
  std::string_view key_;
  std::string_view text_;
};

}  // namespace

void apply_override(Metadata& metadata, std::string_view text) {
  const size_t border = text.find('=');
  if (border == std::string_view::npos || border == 0) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("override: found {}, expected KEY=VALUE", in_quotes(text)));
  }
  const std::string_view key = text.substr(0, border);
  const std::string_view value = text.substr(border + 1);
  if (value == "null") {
    metadata.erase(key);
    metadata.set(std::string(key), std::monostate{});
    return;
  }
  metadata.set(std::string(key), OverrideReader(metadata, key, value).read());
}

}  // namespace fathom::weights
