// Builds GGUF files in memory: whole ones (tiny models, vocabularies) and broken ones, on purpose.
// Called by tests of weights, codec, model. Source: ggml/docs/gguf.md, written independently of the
// reader in lib/weights.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/dtype.h"
#include "weights/model_file.h"

namespace fathom::test {

// Bytes of a value as the file stores it.
template <class T>

requires std::is_trivially_copyable_v<T> std::vector<std::byte> raw_bytes(const T& value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <class T>
std::vector<std::byte> raw_bytes(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A string as GGUF has it: 64-bit length, bytes.
std::vector<std::byte> raw_string(std::string_view text);

// The value type number of GGUF for a C++ type.
template <class T>
constexpr uint32_t gguf_type_of() {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return 0;
  } else if constexpr (std::is_same_v<T, int8_t>) {
    return 1;
  } else if constexpr (std::is_same_v<T, uint16_t>) {
    return 2;
  } else if constexpr (std::is_same_v<T, int16_t>) {
    return 3;
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    return 4;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return 5;
  } else if constexpr (std::is_same_v<T, float>) {
    return 6;
  } else if constexpr (std::is_same_v<T, bool>) {
    return 7;
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return 10;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return 11;
  } else {
    static_assert(std::is_same_v<T, double>, "GGUF has no such type");
    return 12;
  }
}

// A row of the tensor table; what is set by hand overrides what the builder would compute.
struct GgufTensor {
  std::string name;
  uint32_t type = 0;           // ggml's number
  std::vector<uint64_t> dims;  // innermost first, as in the file
  std::vector<std::byte> bytes;
  std::optional<uint32_t> n_dims;
  std::optional<uint64_t> offset;  // from the start of the data
};

class GgufBuilder {
 public:
  // Metadata: the stored type follows from the C++ type (uint32_t -> UINT32, float -> FLOAT32 ...).
  template <class T>

  requires std::is_arithmetic_v<T> GgufBuilder& set(std::string_view key, T value) {
    return set_raw(key, gguf_type_of<T>(), raw_bytes(value));
  }

  GgufBuilder& set(std::string_view key, std::string_view text);

  GgufBuilder& set(std::string_view key, const char* text) {
    return set(key, std::string_view(text));
  }

  template <class T>

  requires std::is_arithmetic_v<T> GgufBuilder& set(std::string_view key,
                                                    const std::vector<T>& values) {
    std::vector<std::byte> raw;
    for (const T value : values) {
      const auto one = raw_bytes(value);
      raw.insert(raw.end(), one.begin(), one.end());
    }
    return set_array(key, gguf_type_of<T>(), values.size(), raw);
  }

  GgufBuilder& set(std::string_view key, const std::vector<std::string>& texts);

  // An array with any element type, length and bytes.
  GgufBuilder& set_array(std::string_view key, uint32_t element_type, uint64_t length,
                         std::span<const std::byte> raw);

  // An entry with any type number and value bytes.
  GgufBuilder& set_raw(std::string_view key, uint32_t type, std::span<const std::byte> raw);

  // Removes the entries of a key, so that another can take their place.
  GgufBuilder& remove(std::string_view key);

  // A tensor of shape [outer, ..., inner]; `bytes` is its data.
  GgufBuilder& add_tensor(std::string_view name, DType type, std::span<const int64_t> shape,
                          std::span<const std::byte> bytes);

  // The same with F32 values.
  GgufBuilder& add_tensor(std::string_view name, std::span<const int64_t> shape,
                          const std::vector<float>& values);

  // A tensor with every field as given.
  GgufBuilder& add_tensor(GgufTensor tensor);

  // general.alignment, and the layout that goes with it.
  GgufBuilder& align(uint32_t alignment);

  // Header fields; without these they are right.
  GgufBuilder& magic(std::string_view text);
  GgufBuilder& version(uint32_t number);
  GgufBuilder& claim_n_tensors(uint64_t count);
  GgufBuilder& claim_n_keys(uint64_t count);

  // The whole file.
  [[nodiscard]] std::vector<std::byte> bytes() const;

  // Writes bytes() to `path` and gives the path.
  std::string write(const std::string& path) const;

  // Parses bytes() as open_model would. The bytes live as long as the result's deleter.
  [[nodiscard]] std::shared_ptr<weights::ModelFile> parse(
      const std::string& name = "memory.gguf") const;

 private:
  struct Entry {
    std::string key;
    uint32_t type;
    std::vector<std::byte> raw;
  };

  std::string magic_ = "GGUF";
  uint32_t version_ = 3;
  uint64_t alignment_ = 32;
  std::optional<uint64_t> n_tensors_;
  std::optional<uint64_t> n_keys_;
  std::vector<Entry> entries_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace fathom::test
