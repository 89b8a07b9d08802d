// The numbers that GGUF files give to metadata values, and to tensor types that Fathom does not
// read. Called by weights/gguf. Source: ggml/docs/gguf.md and the enum ggml_type of ggml.h.
#pragma once

#include <cstdint>
#include <string_view>

namespace fathom::weights {

// The name of a tensor type that ggml has or had and Fathom does not read ("IQ2_XXS"), or an empty
// text. The types that Fathom reads stand in quant/formats.h.
std::string_view unread_ggml_type(uint32_t number);

// Types of metadata values, by their numbers in the file.
enum class GgufValueType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

inline constexpr uint32_t kNumGgufValueTypes = 13;

// "UINT8", "ARRAY" ...
std::string_view name_of(GgufValueType type);

// Bytes of a value in the file; for strings and arrays the least it can be.
uint32_t min_bytes(GgufValueType type);

}  // namespace fathom::weights
