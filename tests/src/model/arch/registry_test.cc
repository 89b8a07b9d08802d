// The table of architectures: who is found by which name, and what a stranger is told.
#include "model/arch/registry.h"

#include <gtest/gtest.h>

#include "src/model/arch/configs.h"
#include "support/error_check.h"

namespace fathom::model {
namespace {

using test::expect_error;

TEST(ArchRegistry, FindsByTheNameOfEitherFormat) {
  for (const char* name : {"llama", "qwen2", "qwen3", "gemma3"}) {
    EXPECT_EQ(find_arch(test::gguf_config(name)).gguf_name, name);
  }
  for (const char* name : {"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM",
                           "Qwen3ForCausalLM", "Gemma3ForCausalLM"}) {
    EXPECT_EQ(find_arch(test::hf_config(name)).hf_names.front(), name);
  }
}

TEST(ArchRegistry, NamesTheStrangerAndThoseItKnows) {
  expect_error([] { find_arch(test::gguf_config("rwkv7")); }, ErrorCode::kUnsupported,
               {"model.gguf", "'rwkv7'", "gemma3, llama, qwen2, qwen3"});
  expect_error([] { find_arch(test::hf_config("MambaForCausalLM")); }, ErrorCode::kUnsupported,
               {"'MambaForCausalLM'", "MistralForCausalLM"});
  // An empty name must not match an architecture that has no name in GGUF.
  expect_error([] { find_arch(test::gguf_config("")); }, ErrorCode::kUnsupported, {"''"});
}

TEST(ArchRegistry, AMissingNameIsACorruptFile) {
  const weights::Metadata hf(weights::Source::kHuggingFace, "model/config.json");
  expect_error([&] { find_arch(hf); }, ErrorCode::kCorruptFile, {"'architectures'"});
  const weights::Metadata gguf(weights::Source::kGguf, "model.gguf");
  expect_error([&] { find_arch(gguf); }, ErrorCode::kCorruptFile, {"general.architecture"});
}

}  // namespace
}  // namespace fathom::model
