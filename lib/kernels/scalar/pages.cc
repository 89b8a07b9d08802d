// K and V of one token into a page, in every page type: the definition.
// Called through KernelTable. Read next: scalar/pages.h, docs/numbers.md ("Attention").
#include "kernels/scalar/pages.h"

#include <limits>

#include "kernels/scalar/fill.h"

namespace fathom::kernels::scalar {

namespace {

using Index = int64_t (*)(int dim, int slot, int d);

template <Index kIndex>
void write_bf16(const float* x, int dim, int slot, std::byte* page) noexcept {
  for (int d = 0; d < padded_dims(PageType::kBF16, dim); ++d) {
    const uint16_t bits = f32_to_bf16_operand(d < dim ? x[d] : 0.0F);
    std::memcpy(page + kIndex(dim, slot, d) * 2, &bits, sizeof bits);
  }
}

template <Index kIndex>
void write_f32(const float* x, int dim, int slot, std::byte* page) noexcept {
  for (int d = 0; d < dim; ++d) {
    std::memcpy(page + kIndex(dim, slot, d) * 4, x + d, sizeof(float));
  }
}

// The largest magnitude's bits, which order as the magnitudes do; NaN lies above Inf.
uint32_t largest_bits(const float* x, int n) {
  uint32_t largest = 0;
  for (int d = 0; d < n; ++d) {
    uint32_t bits = 0;
    std::memcpy(&bits, x + d, sizeof bits);
    bits &= 0x7FFFFFFFU;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

// One scale for the token: da = amax / 127, code = round(x * (127 / amax)), ties to even.
template <Index kIndex>
void write_int8(const float* x, int dim, int slot, std::byte* page) noexcept {
  constexpr uint32_t kInf = 0x7F800000U;
  constexpr uint32_t kSmallest = 27U << 23;   // 2^-100
  constexpr float kRoundMagic = 12582912.0F;  // 1.5 * 2^23: rounds |x| < 2^22, ties to even
  const uint32_t bits = largest_bits(x, dim);
  const bool is_zero = bits < kSmallest || bits >= kInf;
  float amax = 0.0F;
  std::memcpy(&amax, &bits, sizeof amax);
  float scale = bits >= kInf ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
  scale = is_zero ? scale : amax / 127.0F;
  const float inverse = is_zero ? 0.0F : 127.0F / amax;
  for (int d = 0; d < padded_dims(PageType::kInt8, dim); ++d) {
    const float code = is_zero || d >= dim ? 0.0F : (x[d] * inverse + kRoundMagic) - kRoundMagic;
    page[kIndex(dim, slot, d)] = static_cast<std::byte>(static_cast<int8_t>(code));
  }
  std::memcpy(page + int8_scales_offset(dim) + int64_t{slot} * 4, &scale, sizeof scale);
}

}  // namespace

void fill_pages(KernelTable* table) {
  constexpr auto kBf16 = static_cast<size_t>(PageType::kBF16);
  constexpr auto kF32 = static_cast<size_t>(PageType::kF32);
  constexpr auto kInt8 = static_cast<size_t>(PageType::kInt8);
  table->write_k[kBf16] = write_bf16<k_index_bf16>;
  table->write_v[kBf16] = write_bf16<v_index_bf16>;
  table->write_k[kF32] = write_f32<k_index_f32>;
  table->write_v[kF32] = write_f32<v_index_f32>;
  table->write_k[kInt8] = write_int8<k_index_int8>;
  table->write_v[kInt8] = write_int8<v_index_int8>;
}

}  // namespace fathom::kernels::scalar
