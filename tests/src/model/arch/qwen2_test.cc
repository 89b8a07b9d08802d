// Qwen2: bias on q, k and v alone; a window only where it is switched on, on the upper layers.
#include <gtest/gtest.h>

#include "src/model/arch/configs.h"

namespace fathom::model {
namespace {

using test::hf_config;
using test::read_config;
using test::windows;

constexpr char kClass[] = "Qwen2ForCausalLM";

TEST(ArchQwen2, BiasOnQkvOnly) {
  const LayerOptions layer = read_config(hf_config(kClass)).layers[0];
  EXPECT_TRUE(layer.qkv_bias);
  EXPECT_FALSE(layer.output_bias);
  EXPECT_EQ(layer.qk_norm, QkNorm::kNone);
}

// The released small models name a window and switch it off.
TEST(ArchQwen2, WindowIsOffByDefault) {
  auto md = hf_config(kClass);
  md.set("sliding_window", int64_t{32768});
  md.set("max_window_layers", int64_t{2});
  md.set("use_sliding_window", false);
  EXPECT_EQ(windows(read_config(md)), (std::vector<int64_t>{0, 0, 0, 0}));
}

TEST(ArchQwen2, WindowBeginsAtMaxWindowLayers) {
  auto md = hf_config(kClass);
  md.set("use_sliding_window", true);
  md.set("sliding_window", int64_t{512});
  md.set("max_window_layers", int64_t{3});
  EXPECT_EQ(windows(read_config(md)), (std::vector<int64_t>{0, 0, 0, 512}));
  // transformers 5 writes the pattern out; it decides.
  const std::string full = "full_attention";
  const std::string sliding = "sliding_attention";
  md.set("layer_types", std::vector<std::string>{sliding, full, sliding, full});
  EXPECT_EQ(windows(read_config(md)), (std::vector<int64_t>{512, 0, 512, 0}));
}

}  // namespace
}  // namespace fathom::model
