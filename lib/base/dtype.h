// Element and block types of tensors, as files store them.
// Called by every room. Read next: quant/formats.h (sizes), base/tensor.h (views).
#pragma once

#include <cstdint>
#include <string_view>

namespace fathom {

// One value per storage type; block formats carry the name that ggml gives them.
enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,    // 32 values: E8M0 scale, 16 bytes of E2M1 pairs (ggml's order)
  kI4Group,  // 32 values: f32 scale, u8 zero, 16 bytes of u4 pairs (value = scale * (code - zero))
  kI8Group,  // 32 values: f32 scale, u8 zero, 32 bytes of u8; both only in memory, from GPTQ and
             // kin
  kF8_E4M3,
  kF8_E5M2,
  kI8,
  kI16,
  kI32,
  kI64,
  kF64,
  kU8,  // bytes and bools; the words that some checkpoints pack weights into
};

inline constexpr int kNumDTypes = static_cast<int>(DType::kU8) + 1;

// "F32", "Q4_K" ...; valid forever.
std::string_view name_of(DType type);

}  // namespace fathom
