// Key, type, value: the typed entries of a GGUF file, each checked before it is stored.
// Read next: weights/gguf.cc.
#include "weights/gguf_metadata.h"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "weights/gguf_types.h"

namespace fathom::weights {

namespace {

constexpr uint64_t kBudgetBytes = uint64_t{48} << 20;
constexpr size_t kMaxKeyBytes = 65535;       // the format's own limit
constexpr uint64_t kEntryBytes = 192;        // a map node with its strings' headers
constexpr size_t kInlineStringBytes = 15;    // longer std::strings live on the heap
constexpr uint64_t kHeapOverheadBytes = 24;  // of one small allocation

constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr int64_t kDefaultAlignment = 32;
constexpr int64_t kMinAlignment = 8;
constexpr int64_t kMaxAlignment = 65536;

using Type = GgufValueType;

// Keys whose type the format fixes and whose readers rely on it.
struct KeyRule {
  std::string_view key;
  Type type;
  Type element;        // of an array
  Type other_element;  // also allowed
};

constexpr KeyRule kKeyRules[] = {
    {kAlignmentKey, Type::kU32, Type::kU32, Type::kU32},
    {"general.architecture", Type::kString, Type::kString, Type::kString},
    {"tokenizer.ggml.model", Type::kString, Type::kString, Type::kString},
    {"tokenizer.ggml.tokens", Type::kArray, Type::kString, Type::kString},
    {"tokenizer.ggml.merges", Type::kArray, Type::kString, Type::kString},
    {"tokenizer.ggml.scores", Type::kArray, Type::kF32, Type::kF64},
    {"tokenizer.ggml.token_type", Type::kArray, Type::kI32, Type::kU32},
};

const KeyRule* find_rule(std::string_view key) {
  for (const KeyRule& rule : kKeyRules) {
    if (rule.key == key) {
      return &rule;
    }
  }
  return nullptr;
}

// One entry being read: its field name for errors is made only when one is needed.
class EntryReader {
 public:
  EntryReader(ByteReader& reader, DecodeBudget& budget, std::string key)
      : reader_(reader), budget_(budget), key_(std::move(key)), rule_(find_rule(key_)) {}

  MetadataValue read() {
    const Type type = read_type("type");
    if (rule_ != nullptr && type != rule_->type) {
      fail_before(4, "type", name_of(type), name_of(rule_->type));
    }
    MetadataValue value = type == Type::kArray ? read_array() : read_scalar(type);
    if (key_ == kAlignmentKey) {
      check_alignment(std::get<int64_t>(value));
    }
    return value;
  }

  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  // Names the field that ends at the cursor and is `n_bytes` long.
  [[noreturn]] void fail_before(size_t n_bytes, std::string_view part, std::string_view found,
                                std::string_view allowed) const {
    reader_.fail_at(reader_.offset() - n_bytes, part, found, allowed);
  }

  void check_alignment(int64_t alignment) const {
    const bool is_power = alignment > 0 && std::has_single_bit(static_cast<uint64_t>(alignment));
    if (!is_power || alignment < kMinAlignment || alignment > kMaxAlignment) {
      fail_before(4, "value", fmt::format("{}", alignment),
                  fmt::format("a power of two, {} to {}", kMinAlignment, kMaxAlignment));
    }
  }

  Type read_type(std::string_view part) {
    const auto number = reader_.read<uint32_t>(part);
    if (number >= kNumGgufValueTypes) {
      fail_before(4, part, fmt::format("{}", number), "0 to 12 (the value types of GGUF)");
    }
    return static_cast<Type>(number);
  }

  bool read_bool() {
    const auto byte = reader_.read<uint8_t>("bool");
    if (byte > 1) {
      fail_before(1, "bool", fmt::format("{}", byte), "0 or 1");
    }
    return byte == 1;
  }

  std::string read_string() {
    const size_t start = reader_.offset();
    const std::string_view text = reader_.read_string(std::numeric_limits<size_t>::max(), "string");
    if (text.size() > kInlineStringBytes) {
      budget_.charge(text.size() + kHeapOverheadBytes, 0, start, reader_);
    }
    return std::string(text);
  }

  MetadataValue read_scalar(Type type) {
    switch (type) {
      case Type::kU8:
        return int64_t{reader_.read<uint8_t>("value")};
      case Type::kI8:
        return int64_t{reader_.read<int8_t>("value")};
      case Type::kU16:
        return int64_t{reader_.read<uint16_t>("value")};
      case Type::kI16:
        return int64_t{reader_.read<int16_t>("value")};
      case Type::kU32:
        return int64_t{reader_.read<uint32_t>("value")};
      case Type::kI32:
        return int64_t{reader_.read<int32_t>("value")};
      case Type::kF32:
        return double{reader_.read<float>("value")};
      case Type::kBool:
        return read_bool();
      case Type::kString:
        return read_string();
      case Type::kU64:
        return reader_.read<uint64_t>("value");
      case Type::kI64:
        return reader_.read<int64_t>("value");
      case Type::kF64:
        return reader_.read<double>("value");
      case Type::kArray:
        break;
    }
    return std::monostate{};
  }

  MetadataValue read_array() {
    const Type element = read_type("array element type");
    if (element == Type::kArray) {
      fail_before(4, "array element type", "ARRAY", "a type that is no array (no nested arrays)");
    }
    if (rule_ != nullptr && element != rule_->element && element != rule_->other_element) {
      fail_before(4, "array element type", name_of(element), name_of(rule_->element));
    }
    const size_t start = reader_.offset();
    const size_t count = reader_.read_count(min_bytes(element), "array length");
    const uint64_t element_bytes = element == Type::kString ? sizeof(std::string) : 8;
    // Both products are below 2^64: read_count bounds `count` by the file's size.
    budget_.charge(count * element_bytes, count * min_bytes(element), start, reader_);
    switch (element) {
      case Type::kU8:
        return read_ints<uint8_t>(count);
      case Type::kI8:
        return read_ints<int8_t>(count);
      case Type::kU16:
        return read_ints<uint16_t>(count);
      case Type::kI16:
        return read_ints<int16_t>(count);
      case Type::kU32:
        return read_ints<uint32_t>(count);
      case Type::kI32:
        return read_ints<int32_t>(count);
      case Type::kI64:
        return read_ints<int64_t>(count);
      case Type::kU64:
        return read_ints<uint64_t>(count);
      case Type::kF32:
        return read_doubles<float>(count);
      case Type::kF64:
        return read_doubles<double>(count);
      case Type::kBool:
        return read_bools(count);
      case Type::kString:
        return read_strings(count);
      case Type::kArray:
        break;
    }
    return std::monostate{};
  }

  template <class T>
  std::vector<int64_t> read_ints(size_t count) {
    std::vector<int64_t> values(count);
    for (int64_t& value : values) {
      const T raw = reader_.read<T>("array entry");
      if (!std::in_range<int64_t>(raw)) {
        fail_before(sizeof(T), "array entry", fmt::format("{}", raw), "below 2^63");
      }
      value = static_cast<int64_t>(raw);  // NOLINT(bugprone-signed-char-misuse): INT8 is a number
    }
    return values;
  }

  template <class T>
  std::vector<double> read_doubles(size_t count) {
    std::vector<double> values(count);
    for (double& value : values) {
      value = double{reader_.read<T>("array entry")};
    }
    return values;
  }

  std::vector<bool> read_bools(size_t count) {
    std::vector<bool> values(count);
    for (size_t i = 0; i < count; ++i) {
      values[i] = read_bool();
    }
    return values;
  }

  std::vector<std::string> read_strings(size_t count) {
    std::vector<std::string> values;
    values.reserve(count);  // charged above
    for (size_t i = 0; i < count; ++i) {
      values.push_back(read_string());
    }
    return values;
  }

  ByteReader& reader_;
  DecodeBudget& budget_;
  std::string key_;
  const KeyRule* rule_;
};

}  // namespace

void DecodeBudget::charge(uint64_t n_bytes, uint64_t n_file_bytes, size_t offset,
                          const ByteReader& reader) {
  const uint64_t rest = reader.remaining() - n_file_bytes;
  const uint64_t allowed = kBudgetBytes + rest;
  used_bytes_ += n_bytes;
  if (used_bytes_ > allowed) {
    reader.fail_at(offset, "decoded metadata", fmt::format("{} bytes", used_bytes_),
                   fmt::format("at most {} bytes; no real vocabulary is this large", allowed));
  }
}

void read_gguf_metadata(ByteReader& reader, size_t n_keys, DecodeBudget& budget,
                        Metadata& metadata) {
  for (size_t i = 0; i < n_keys; ++i) {
    const size_t start = reader.offset();
    reader.set_subject({}, {});
    const std::string_view key = reader.read_string(kMaxKeyBytes, "key");
    if (key.empty()) {
      reader.fail_at(start, "key", "an empty name", fmt::format("1 to {} bytes", kMaxKeyBytes));
    }
    reader.set_subject("key", key);
    if (metadata.contains(key)) {
      reader.fail_at(start, "name", "it a second time", "each key once");
    }
    budget.charge(kEntryBytes + 2 * key.size(), 0, start, reader);
    EntryReader entry(reader, budget, std::string(key));
    MetadataValue value = entry.read();
    metadata.set(entry.key(), std::move(value));
  }
  reader.set_subject({}, {});
}

int64_t gguf_alignment(const Metadata& metadata) {
  return metadata.find_int(kAlignmentKey).value_or(kDefaultAlignment);
}

}  // namespace fathom::weights
