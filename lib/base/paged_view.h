// The K/V pages of one layer as operations see them: plain addresses, no ownership.
// A page holds kPageTokens positions of every KV head. Per head, first K, then V:
//   bf16: K [kPageTokens/16][head_dim/2][16 tokens][2 dims]   V [kPageTokens/2][value_dim][2
//   tokens] f32:  K [kPageTokens/16][head_dim][16 tokens]             V [kPageTokens][value_dim]
//   int8: K [kPageTokens/16][head_dim/4][16 tokens][4 dims]   V [kPageTokens/4][value_dim][4
//   tokens]
//         codes, each followed by f32 scales [kPageTokens]
// (docs/numbers.md, "Attention"). Dims are padded to even (bf16) or to fours (int8). Tails are
// zero. Called by kv (makes it), ops (reads and writes through it).
#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom {

inline constexpr int kPageTokens = 64;
inline constexpr int kSpanTokens = 512;  // attention is merged over spans of this many positions

enum class PageType : uint8_t { kBF16, kF32, kInt8 };

inline constexpr int kNumPageTypes = 3;

// Dims as a page holds them.
constexpr int padded_dims(PageType type, int dim) {
  return type == PageType::kF32    ? dim
         : type == PageType::kBF16 ? (dim + 1) / 2 * 2
                                   : (dim + 3) / 4 * 4;
}

// Bytes of K, or of V, of one head in one page: a multiple of 64.
constexpr int64_t page_half_bytes(PageType type, int dim) {
  const int64_t values = int64_t{kPageTokens} * padded_dims(type, dim);
  return type == PageType::kF32    ? values * 4
         : type == PageType::kBF16 ? values * 2
                                   : values + kPageTokens * int64_t{sizeof(float)};
}

struct PagedView {
  std::byte* base = nullptr;      // page 0 of this layer, 64-byte aligned
  int64_t page_stride_bytes = 0;  // from one page of this layer to the next page number
  int64_t head_stride_bytes = 0;  // from one KV head to the next inside a page
  int64_t v_offset_bytes = 0;     // from a head's K to its V
  PageType type = PageType::kBF16;
  int n_kv_heads = 0;
  int head_dim = 0;   // of K
  int value_dim = 0;  // of V; smaller than head_dim where latents are cached

  [[nodiscard]] std::byte* k_of(int32_t page, int kv_head) const {
    return base + page * page_stride_bytes + kv_head * head_stride_bytes;
  }

  [[nodiscard]] std::byte* v_of(int32_t page, int kv_head) const {
    return k_of(page, kv_head) + v_offset_bytes;
  }
};

}  // namespace fathom
