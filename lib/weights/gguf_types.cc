// Tables of the numbers in gguf_types.h.
#include "weights/gguf_types.h"

#include <array>
#include <cstddef>

namespace fathom::weights {

namespace {

struct UnreadType {
  uint32_t number;
  std::string_view name;
};

constexpr UnreadType kUnreadTypes[] = {
    {4, "Q4_2"},    {5, "Q4_3"},        {9, "Q8_1"},        {15, "Q8_K"},       {16, "IQ2_XXS"},
    {17, "IQ2_XS"}, {18, "IQ3_XXS"},    {19, "IQ1_S"},      {21, "IQ3_S"},      {22, "IQ2_S"},
    {29, "IQ1_M"},  {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},   {33, "Q4_0_8_8"},   {34, "TQ1_0"},
    {35, "TQ2_0"},  {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}, {40, "NVFP4"},
    {41, "Q1_0"},
};

struct ValueTypeRow {
  std::string_view name;
  uint32_t min_bytes;
};

constexpr std::array<ValueTypeRow, kNumGgufValueTypes> kValueTypes = {{
    {"UINT8", 1},
    {"INT8", 1},
    {"UINT16", 2},
    {"INT16", 2},
    {"UINT32", 4},
    {"INT32", 4},
    {"FLOAT32", 4},
    {"BOOL", 1},
    {"STRING", 8},
    {"ARRAY", 12},
    {"UINT64", 8},
    {"INT64", 8},
    {"FLOAT64", 8},
}};

}  // namespace

std::string_view unread_ggml_type(uint32_t number) {
  for (const UnreadType& row : kUnreadTypes) {
    if (row.number == number) {
      return row.name;
    }
  }
  return {};
}

std::string_view name_of(GgufValueType type) {
  return kValueTypes[static_cast<size_t>(type)].name;
}

uint32_t min_bytes(GgufValueType type) {
  return kValueTypes[static_cast<size_t>(type)].min_bytes;
}

}  // namespace fathom::weights
