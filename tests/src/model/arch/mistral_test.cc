// Mistral: one window for every layer, or none.
#include <gtest/gtest.h>

#include "src/model/arch/configs.h"
#include "support/error_check.h"

namespace fathom::model {
namespace {

using test::hf_config;
using test::read_config;
using test::windows;

constexpr char kClass[] = "MistralForCausalLM";

TEST(ArchMistral, WindowOfVersion1OnEveryLayer) {
  auto md = hf_config(kClass);
  md.set("sliding_window", int64_t{4096});
  EXPECT_EQ(windows(read_config(md)), (std::vector<int64_t>{4096, 4096, 4096, 4096}));
}

TEST(ArchMistral, LaterVersionsSayNull) {
  auto md = hf_config(kClass);
  md.set("sliding_window", std::monostate{});
  EXPECT_EQ(windows(read_config(md)), (std::vector<int64_t>{0, 0, 0, 0}));
}

// GGUF files of this family say "llama"; "mistral" there means another program wrote it.
TEST(ArchMistral, HasNoNameInGguf) {
  test::expect_error([] { read_config(test::gguf_config("mistral")); }, ErrorCode::kUnsupported,
                     {"'mistral'"});
}

}  // namespace
}  // namespace fathom::model
