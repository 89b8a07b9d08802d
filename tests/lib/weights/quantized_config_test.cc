// quantization_config: what is read, and what is refused by name.
#include "weights/quantized_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "weights/json.h"

namespace fathom::weights {
namespace {

using testing::HasSubstr;

QuantizationConfig read(const std::string& json) {
  Metadata metadata(Source::kHuggingFace, "m/config.json");
  flatten_json("{\"quantization_config\":" + json + "}", "m/config.json", "", metadata);
  return read_quantization_config(metadata);
}

std::string error_of(const std::string& json) {
  try {
    read(json);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    return error.what();
  }
}

TEST(QuantizedConfig, NoneIsNoMethod) {
  EXPECT_EQ(read_quantization_config(Metadata(Source::kHuggingFace, "m")).method,
            QuantMethod::kNone);
  EXPECT_EQ(read("null").method, QuantMethod::kNone);
}

TEST(QuantizedConfig, Gptq) {
  const auto v1 = read(R"({"quant_method":"gptq","bits":4,"group_size":-1})");
  EXPECT_EQ(v1.method, QuantMethod::kGptq);
  EXPECT_EQ(v1.group_size, -1);
  EXPECT_TRUE(v1.zeros_less_one);
  const auto v2 = read(R"({"quant_method":"gptq","bits":8,"checkpoint_format":"gptq_v2"})");
  EXPECT_EQ(v2.bits, 8);
  EXPECT_EQ(v2.group_size, 128);
  EXPECT_FALSE(v2.zeros_less_one);
}

TEST(QuantizedConfig, AwqFp8Mxfp4) {
  EXPECT_EQ(
      read(R"({"quant_method":"awq","w_bit":4,"q_group_size":64,"version":"GEMM"})").group_size,
      64);
  const auto fp8 = read(R"({"quant_method":"fp8","weight_block_size":[128,64]})");
  EXPECT_EQ(fp8.block_rows, 128);
  EXPECT_EQ(fp8.block_cols, 64);
  EXPECT_EQ(read(R"({"quant_method":"fp8","weight_block_size":null})").block_rows, 0);
  EXPECT_EQ(read(R"({"quant_method":"mxfp4"})").method, QuantMethod::kMxfp4);
}

TEST(QuantizedConfig, OtherMethodsAreNamed) {
  for (const std::string method : {"bitsandbytes", "eetq", "hqq", "aqlm", "modelopt", "quark"}) {
    const std::string error = error_of(R"({"quant_method":")" + method + "\"}");
    EXPECT_THAT(error, HasSubstr("m/config.json: quantization_config.quant_method: found '" +
                                 method + "'"));
    EXPECT_THAT(error, HasSubstr("'compressed-tensors'"));
  }
  EXPECT_THAT(error_of(R"({"load_in_4bit":true})"), HasSubstr("found none beside other keys"));
}

TEST(QuantizedConfig, OtherFormatsAreNamed) {
  EXPECT_THAT(error_of(R"({"quant_method":"gptq","bits":3})"), HasSubstr("bits: found 3"));
  EXPECT_THAT(error_of(R"({"quant_method":"gptq","bits":2})"), HasSubstr("bits: found 2"));
  EXPECT_THAT(error_of(R"({"quant_method":"gptq","bits":4,"checkpoint_format":"marlin"})"),
              HasSubstr("checkpoint_format: found 'marlin', read are 'gptq', 'gptq_v2'"));
  EXPECT_THAT(error_of(R"({"quant_method":"gptq","bits":4,"is_marlin_format":true})"),
              HasSubstr("is_marlin_format"));
  EXPECT_THAT(error_of(R"({"quant_method":"awq","version":"gemv"})"), HasSubstr("found 'gemv'"));
  EXPECT_THAT(error_of(R"({"quant_method":"awq","bits":3})"), HasSubstr("found 3, read are 4"));
  const std::string ct = R"({"quant_method":"compressed-tensors",)";
  EXPECT_THAT(error_of(ct + R"("format":"nvfp4-pack-quantized"})"),
              HasSubstr("format: found 'nvfp4-pack-quantized'"));
  EXPECT_THAT(error_of(ct + R"("format":"marlin-24"})"), HasSubstr("'marlin-24'"));
  EXPECT_THAT(error_of(ct + R"("config_groups":{"group_1":{"format":"mxfp8-quantized"}}})"),
              HasSubstr("config_groups.group_1.format: found 'mxfp8-quantized'"));
  EXPECT_THAT(error_of(ct + R"("sparsity_config":{"format":"sparse-24-bitmask"}})"),
              HasSubstr("sparsity_config.format: found 'sparse-24-bitmask'"));
  EXPECT_THAT(error_of(ct + R"("transform_config":{"config_groups":{"R1":{"type":"hadamard"}}}})"),
              HasSubstr("a rotation of activations"));
  EXPECT_THAT(error_of(R"({"quant_method":"fp8","weight_block_size":[128]})"),
              HasSubstr("weight_block_size"));
}

}  // namespace
}  // namespace fathom::weights
