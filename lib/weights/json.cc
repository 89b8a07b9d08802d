// Walks JSON with simdjson's on-demand parser: each value is read once, in the order it stands.
// Read next: weights/hf_folder.cc, weights/safetensors.cc.
#include "weights/json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "weights/byte_reader.h"

namespace fathom::weights {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr int kMaxDepth = 16;
constexpr size_t kMaxDims = 8;

// A parsed text and where errors about it happened.
class JsonText {
 public:
  JsonText(std::string_view text, std::string_view name) : name_(name), padded_(text) {}

  // Runs walk(root object), with every simdjson error turned into ours.
  template <class Walk>
  void parse(Walk walk) {
    try {
      document_ = parser_.iterate(padded_);
      is_walking_ = true;
      walk(ondemand::object(document_.get_object()));
      if (document_.current_location().error() == simdjson::SUCCESS) {
        fail_here("text after the end of the object", "one JSON object");
      }
    } catch (const simdjson::simdjson_error& error) {
      fail_here(error.what(), allowed_);
    }
  }

  // What is read next, for errors: its key, with those above it, and what it may be.
  void at(std::string key, std::string_view allowed = "valid JSON") {
    key_ = std::move(key);
    allowed_ = allowed;
  }

  // Where the walk stands; 0 when the text is broken as a whole (not UTF-8, an open string).
  [[nodiscard]] size_t offset() {
    if (!is_walking_) {
      return 0;
    }
    const char* location = nullptr;
    if (document_.current_location().get(location) != simdjson::SUCCESS) {
      return padded_.size();
    }
    return static_cast<size_t>(location - padded_.data());
  }

  [[noreturn]] void fail_here(std::string_view found, std::string_view allowed) {
    const std::string field =
        key_.empty() ? "JSON" : fmt::format("JSON, at or behind key {}", in_quotes(key_));
    fail_at(offset(), field, found, allowed);
  }

  [[noreturn]] void fail_at(size_t at, std::string_view field, std::string_view found,
                            std::string_view allowed) const {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: byte {}: {}: found {}, allowed {}", name_, at, field, found, allowed));
  }

 private:
  std::string name_;
  simdjson::padded_string padded_;
  ondemand::parser parser_;
  ondemand::document document_;
  bool is_walking_ = false;
  std::string key_;
  std::string_view allowed_ = "one JSON object";
};

// A number as exactly as it is written: int64, else uint64 when it fits, else double.
MetadataValue read_number(ondemand::value& value) {
  const std::string_view raw = value.raw_json_token();
  if (raw.find_first_of(".eE") == std::string_view::npos) {
    int64_t i = 0;
    if (value.get_int64().get(i) == simdjson::SUCCESS) {
      return i;
    }
    uint64_t u = 0;
    if (value.get_uint64().get(u) == simdjson::SUCCESS) {
      return u;
    }
  }
  return double(value.get_double());
}

// What Python's json module writes for non-finite floats, which JSON itself does not have.
std::optional<double> read_non_finite(ondemand::value& value) {
  const std::string_view raw = value.raw_json_token();
  if (raw.starts_with("Infinity")) {
    return std::numeric_limits<double>::infinity();
  }
  if (raw.starts_with("-Infinity")) {
    return -std::numeric_limits<double>::infinity();
  }
  if (raw.starts_with("NaN")) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return std::nullopt;
}

// The values as a vector of T when each of them is one, or nothing.
template <class T>
std::optional<MetadataValue> as_array_of(const std::vector<MetadataValue>& values) {
  std::vector<T> result;
  for (const MetadataValue& value : values) {
    if (const T* entry = std::get_if<T>(&value)) {
      result.push_back(*entry);
    } else if (const auto* whole = std::get_if<int64_t>(&value);
               whole != nullptr && std::is_same_v<T, double>) {
      if constexpr (std::is_same_v<T, double>) {
        result.push_back(static_cast<double>(*whole));
      }
    } else {
      return std::nullopt;
    }
  }
  return MetadataValue(std::move(result));
}

// Puts the leaves of one JSON object into Metadata.
class Flattener {
 public:
  Flattener(JsonText& text, Metadata& metadata) : text_(text), metadata_(metadata) {}

  void walk_object(ondemand::object object, const std::string& prefix, int depth) {
    for (auto field : object) {
      const std::string key = prefix + std::string(std::string_view(field.unescaped_key()));
      text_.at(key);
      walk_value(field.value(), key, depth);
    }
  }

 private:
  void walk_value(ondemand::value value, const std::string& key, int depth) {
    if (depth > kMaxDepth) {
      text_.fail_here(fmt::format("key {} nested deeper", in_quotes(key)),
                      fmt::format("{} levels", kMaxDepth));
    }
    const char first = *value.raw_json_token().data();
    if (first == '{') {
      store_container(key, Container::kObject);
      walk_object(value.get_object(), key + ".", depth + 1);
    } else if (first == '[') {
      walk_array(value.get_array(), key, depth + 1);
    } else {
      store(key, read_scalar(value));
    }
  }

  MetadataValue read_scalar(ondemand::value& value) {
    if (const std::optional<double> number = read_non_finite(value)) {
      return *number;
    }
    switch (ondemand::json_type(value.type())) {
      case ondemand::json_type::string:
        return std::string(std::string_view(value.get_string()));
      case ondemand::json_type::boolean:
        return bool(value.get_bool());
      case ondemand::json_type::number:
        return read_number(value);
      default:
        break;
    }
    if (!bool(value.is_null())) {
      text_.fail_here("a word that is no value", "null, true, false, a number or a string");
    }
    return std::monostate{};
  }

  // Scalars are kept until the end, when their common type is known; objects and arrays inside go
  // to Metadata at once, under their number.
  void walk_array(ondemand::array array, const std::string& key, int depth) {
    std::vector<MetadataValue> scalars;
    std::vector<size_t> places;
    size_t index = 0;
    for (auto entry : array) {
      ondemand::value value = entry.value();
      const std::string place = fmt::format("{}.{}", key, index);
      text_.at(place);
      const char first = *value.raw_json_token().data();
      if (first == '{' || first == '[') {
        walk_value(value, place, depth);
      } else {
        scalars.push_back(read_scalar(value));
        places.push_back(index);
      }
      ++index;
    }
    if (scalars.size() == index) {
      if (std::optional<MetadataValue> whole = join(scalars)) {
        store(key, *std::move(whole));
        return;
      }
    }
    store_container(key, Container::kList);
    for (size_t i = 0; i < scalars.size(); ++i) {
      store(fmt::format("{}.{}", key, places[i]), std::move(scalars[i]));
    }
  }

  static std::optional<MetadataValue> join(const std::vector<MetadataValue>& values) {
    std::optional<MetadataValue> result = as_array_of<int64_t>(values);
    result = result ? result : as_array_of<double>(values);
    result = result ? result : as_array_of<bool>(values);
    return result ? result : as_array_of<std::string>(values);
  }

  void store(const std::string& key, MetadataValue value) {
    check_new(key);
    metadata_.set(key, std::move(value));
  }

  void store_container(const std::string& key, Container kind) {
    check_new(key);
    metadata_.set_container(key, kind);
  }

  void check_new(const std::string& key) {
    if (metadata_.contains(key) || metadata_.find_container(key)) {
      text_.fail_here(fmt::format("key {} a second time", in_quotes(key)), "each key once");
    }
  }

  JsonText& text_;
  Metadata& metadata_;
};

// The fields of one tensor's object in a safetensors header.
class EntryReader {
 public:
  EntryReader(JsonText& text, SafetensorsEntry& entry) : text_(text), entry_(entry) {}

  void read(ondemand::object object) {
    for (auto field : object) {
      const std::string_view key = field.unescaped_key();
      ondemand::value value = field.value();
      if (key == "dtype") {
        mark(has_dtype_, key);
        entry_.dtype = std::string_view(value.get_string());
      } else if (key == "shape") {
        mark(has_shape_, key);
        read_shape(value.get_array());
      } else if (key == "data_offsets") {
        mark(has_offsets_, key);
        read_offsets(value.get_array());
      } else {
        fail_entry(fmt::format("field {}", in_quotes(key)), "dtype, shape and data_offsets only");
      }
    }
    if (!has_dtype_ || !has_shape_ || !has_offsets_) {
      fail_entry("a field missing", "dtype, shape and data_offsets, all three");
    }
  }

 private:
  void mark(bool& seen, std::string_view key) {
    if (seen) {
      fail_entry(fmt::format("{} a second time", key), "each field once");
    }
    seen = true;
  }

  void read_shape(ondemand::array array) {
    for (auto dim : array) {
      if (entry_.shape.size() == kMaxDims) {
        fail_entry("a shape of more dimensions", fmt::format("at most {}", kMaxDims));
      }
      entry_.shape.push_back(int64_t(dim.get_int64()));
    }
  }

  void read_offsets(ondemand::array array) {
    int count = 0;
    for (auto offset : array) {
      const uint64_t at = offset.get_uint64();
      (count == 0 ? entry_.begin : entry_.end) = at;
      if (++count > 2) {
        break;
      }
    }
    if (count != 2) {
      fail_entry("data_offsets of another length", "[begin, end]");
    }
  }

  [[noreturn]] void fail_entry(std::string_view found, std::string_view allowed) {
    text_.fail_at(entry_.text_offset, fmt::format("tensor {}", in_quotes(entry_.name)), found,
                  allowed);
  }

  JsonText& text_;
  SafetensorsEntry& entry_;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
};

}  // namespace

void flatten_json(std::string_view text, std::string_view name, std::string_view prefix,
                  Metadata& metadata) {
  JsonText json(text, name);
  Flattener flattener(json, metadata);
  json.parse([&](ondemand::object root) { flattener.walk_object(root, std::string(prefix), 1); });
}

std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view text,
                                                       std::string_view name) {
  std::vector<SafetensorsEntry> entries;
  JsonText json(text, name);
  json.parse([&](ondemand::object root) {
    for (auto field : root) {
      const std::string_view key = field.unescaped_key();
      if (key == "__metadata__") {
        continue;  // free text of the writer
      }
      SafetensorsEntry& entry = entries.emplace_back();
      entry.name = key;
      entry.text_offset = json.offset();
      json.at(entry.name, "dtype (a text), shape and data_offsets (whole numbers)");
      EntryReader(json, entry).read(field.value().get_object());
    }
  });
  return entries;
}

namespace {

// read(value) of the one field `key` of the whole text's object; false where it has none.
template <class Read>
bool read_field(JsonText& json, std::string_view key, std::string_view allowed, Read read) {
  bool found = false;
  json.parse([&](ondemand::object root) {
    for (auto field : root) {
      const std::string name(std::string_view(field.unescaped_key()));
      json.at(name);
      if (name != key) {
        continue;
      }
      if (std::exchange(found, true)) {
        json.fail_here(fmt::format("key {} a second time", in_quotes(key)), "one");
      }
      json.at(name, allowed);
      read(field.value());
    }
  });
  return found;
}

// The pairs of "weight_map": tensor name to file name.
void read_weight_map(ondemand::object map, JsonText& json,
                     std::map<std::string, std::string>& shards) {
  for (auto entry : map) {
    std::string key(std::string_view(entry.unescaped_key()));
    json.at("weight_map." + key, "the name of a file");
    std::string shard(std::string_view(entry.value().get_string()));
    if (!shards.emplace(key, std::move(shard)).second) {
      json.fail_here(fmt::format("tensor {} a second time", in_quotes(key)), "each tensor once");
    }
  }
}

}  // namespace

std::map<std::string, std::string> parse_weight_map(std::string_view text, std::string_view name) {
  std::map<std::string, std::string> shards;
  JsonText json(text, name);
  const bool found =
      read_field(json, "weight_map", "an object from tensor name to file name",
                 [&](ondemand::value value) { read_weight_map(value.get_object(), json, shards); });
  if (!found) {
    json.fail_at(0, "key \"weight_map\"", "none", "an object from tensor name to file name");
  }
  return shards;
}

std::vector<std::pair<std::string, double>> parse_number_map(std::string_view text,
                                                             std::string_view name,
                                                             std::string_view key) {
  std::vector<std::pair<std::string, double>> numbers;
  JsonText json(text, name);
  read_field(json, key, "null, or an object of numbers", [&](ondemand::value value) {
    if (*value.raw_json_token().data() == 'n') {
      value.is_null().value();
      return;
    }
    for (auto entry : ondemand::object(value.get_object())) {
      std::string entry_key(std::string_view(entry.unescaped_key()));
      json.at(fmt::format("{}.{}", key, entry_key), "a number");
      numbers.emplace_back(std::move(entry_key), double(entry.value().get_double()));
    }
  });
  return numbers;
}

}  // namespace fathom::weights
