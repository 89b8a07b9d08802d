// Where the elements of K and V lie in a page, and how they are read.
// Called by scalar/pages.cc, scalar/attend.cc. Read next: base/paged_view.h (page layout).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "base/paged_view.h"

namespace fathom::kernels::scalar {

inline constexpr int kTokenTile = 16;  // tokens side by side in K

// Element (slot, d) of K or V of one head, counted in elements of the page's type.
inline int64_t k_index_bf16(int head_dim, int slot, int d) {
  const int64_t pair = slot / kTokenTile * (padded_dims(PageType::kBF16, head_dim) / 2) + d / 2;
  return (pair * kTokenTile + slot % kTokenTile) * 2 + d % 2;
}

inline int64_t v_index_bf16(int value_dim, int slot, int d) {
  return (int64_t{slot / 2} * padded_dims(PageType::kBF16, value_dim) + d) * 2 + slot % 2;
}

inline int64_t k_index_f32(int head_dim, int slot, int d) {
  return (int64_t{slot / kTokenTile} * head_dim + d) * kTokenTile + slot % kTokenTile;
}

inline int64_t v_index_f32(int value_dim, int slot, int d) {
  return int64_t{slot} * value_dim + d;
}

inline int64_t k_index_int8(int head_dim, int slot, int d) {
  const int64_t quad = slot / kTokenTile * (padded_dims(PageType::kInt8, head_dim) / 4) + d / 4;
  return (quad * kTokenTile + slot % kTokenTile) * 4 + d % 4;
}

inline int64_t v_index_int8(int value_dim, int slot, int d) {
  return (int64_t{slot / 4} * padded_dims(PageType::kInt8, value_dim) + d) * 4 + slot % 4;
}

// From int8 codes to their scales, f32 [kPageTokens].
inline int64_t int8_scales_offset(int dim) {
  return int64_t{kPageTokens} * padded_dims(PageType::kInt8, dim);
}

inline float load_bf16(const std::byte* page, int64_t index) {
  uint16_t bits = 0;
  std::memcpy(&bits, page + index * 2, sizeof bits);
  return bf16_to_f32(bits);
}

inline float load_f32(const std::byte* page, int64_t index) {
  float value = 0.0F;
  std::memcpy(&value, page + index * 4, sizeof value);
  return value;
}

inline float load_code(const std::byte* page, int64_t index) {
  return static_cast<float>(static_cast<int8_t>(page[index]));
}

}  // namespace fathom::kernels::scalar
