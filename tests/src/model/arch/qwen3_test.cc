// Qwen3: a norm per head on q and k in both formats, no bias unless asked for.
#include <gtest/gtest.h>

#include "src/model/arch/configs.h"

namespace fathom::model {
namespace {

using test::gguf_config;
using test::hf_config;
using test::read_config;
using test::windows;

constexpr char kClass[] = "Qwen3ForCausalLM";

TEST(ArchQwen3, NormPerHeadInsteadOfBias) {
  for (const auto& md : {hf_config(kClass), gguf_config("qwen3")}) {
    const ModelConfig config = read_config(md);
    EXPECT_EQ(config.layers[0].qk_norm, QkNorm::kHead);
    EXPECT_FALSE(config.layers[0].qkv_bias);
    EXPECT_EQ(config.ropes[0].style, kernels::RopeStyle::kHalves);
    EXPECT_EQ(windows(config), (std::vector<int64_t>{0, 0, 0, 0}));
  }
}

TEST(ArchQwen3, BiasWhenAskedFor) {
  auto md = hf_config(kClass);
  md.set("attention_bias", true);
  EXPECT_TRUE(read_config(md).layers[2].qkv_bias);
  EXPECT_TRUE(read_config(md).layers[2].output_bias);
}

TEST(ArchQwen3, WindowBeginsAtMaxWindowLayers) {
  auto md = hf_config(kClass);
  md.set("use_sliding_window", true);
  md.set("sliding_window", int64_t{512});
  md.set("max_window_layers", int64_t{2});
  EXPECT_EQ(windows(read_config(md)), (std::vector<int64_t>{0, 0, 512, 512}));
}

}  // namespace
}  // namespace fathom::model
