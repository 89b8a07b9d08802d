// Values of blocks against tools/make_quant_cases.py, which reads the format description on its
// own.
#include "quant/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "quant/formats.h"
#include "quant/pack.h"
#include "support/test_data.h"

namespace fathom::quant {
namespace {

DType type_named(const std::string& name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (name_of(static_cast<DType>(i)) == name) {
      return static_cast<DType>(i);
    }
  }
  ADD_FAILURE() << "no type " << name;
  return DType::kF64;
}

std::vector<std::byte> bytes_of_hex(const std::string& hex) {
  std::vector<std::byte> out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

TEST(Dequantize, EqualsTheFormatDescription) {
  std::ifstream file(fathom::test::test_data("lib/quant/dequantize_cases.txt"));
  int n_cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) {
      continue;
    }
    std::istringstream fields(line);
    std::string name;
    std::string block;
    std::string words;
    fields >> name >> block >> words;
    const DType type = type_named(name);
    const std::vector<std::byte> bytes = bytes_of_hex(block);
    const Format& format = format_of(type);
    const auto n_bytes = static_cast<int64_t>(bytes.size());
    ASSERT_EQ(n_bytes % format.bytes_per_block, 0) << name;
    const int64_t n_values = n_bytes / format.bytes_per_block * format.values_per_block;
    std::vector<float> out(static_cast<size_t>(n_values));
    dequantize_row(type, bytes.data(), n_values, out.data());
    ASSERT_EQ(words.size(), out.size() * 8) << name;
    for (size_t k = 0; k < out.size(); ++k) {
      const auto want = std::bit_cast<float>(
          static_cast<uint32_t>(std::stoul(words.substr(8 * k, 8), nullptr, 16)));
      ASSERT_TRUE(out[k] == want || (std::isnan(out[k]) && std::isnan(want)))
          << name << " value " << k;
    }
    ++n_cases;
  }
  // Two blocks of the twelve formats with f16 scales, three of those with others; all bytes of F8.
  EXPECT_EQ(n_cases, 24 + 9 + 2);
}

TEST(Dequantize, ASimpleBlockByHand) {
  BlockQ4_1 block = {};
  block.d = 0x3800;    // 0.5
  block.m = 0xBC00;    // -1
  block.qs[0] = 0x3F;  // codes 15 (k 0) and 3 (k 16)
  float out[kBlockValues];
  dequantize_block(block, out);
  EXPECT_EQ(out[0], 6.5F);
  EXPECT_EQ(out[16], 0.5F);
  EXPECT_EQ(out[1], -1.0F);
}

TEST(Dequantize, FloatsOfAnyAlignment) {
  const std::vector<std::byte> odd = bytes_of_hex("00003c00c00000803f");
  float out[2];
  dequantize_row(DType::kF16, odd.data() + 1, 2, out);
  EXPECT_EQ(out[0], 1.0F);
  EXPECT_EQ(out[1], -2.0F);
  dequantize_row(DType::kBF16, odd.data() + 7, 1, out);
  EXPECT_EQ(out[0], 1.0F);
  dequantize_row(DType::kF32, odd.data() + 5, 1, out);
  EXPECT_EQ(out[0], 1.0F);
}

}  // namespace
}  // namespace fathom::quant
