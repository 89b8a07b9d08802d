// The table of architectures: who is found by which name, and what a stranger is told.
#include "model/arch/registry.h"

#include <gtest/gtest.h>

#include <set>

#include "src/model/arch/configs.h"
#include "support/error_check.h"

namespace fathom::model {
namespace {

using test::expect_error;

const ArchSpec& find(const test::MadeFile& file) {
  return find_arch(file.file().metadata);
}

TEST(ArchRegistry, FindsByTheNameOfEitherFormat) {
  for (const char* name : {"llama", "qwen2", "deepseek2", "gpt-oss", "gemma3"}) {
    EXPECT_EQ(find(test::gguf_config(name)).gguf_name, name);
  }
  for (const char* name : {"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM",
                           "Qwen3ForCausalLM", "Gemma3ForCausalLM"}) {
    EXPECT_EQ(find(test::hf_config(name)).hf_names.front(), name);
  }
  // One architecture may have several classes.
  EXPECT_EQ(&find(test::hf_config("DeepseekV2ForCausalLM")),
            &find(test::hf_config("DeepseekV3ForCausalLM")));
}

TEST(ArchRegistry, NamesTheStrangerAndThoseItKnows) {
  expect_error([] { find(test::gguf_config("rwkv7")); }, ErrorCode::kUnsupported,
               {"model.gguf", "'rwkv7'", "bloom", "starcoder2"});
  expect_error([] { find(test::hf_config("MambaForCausalLM")); }, ErrorCode::kUnsupported,
               {"'MambaForCausalLM'", "MistralForCausalLM"});
  // An empty name must not match an architecture that has no name in GGUF.
  expect_error([] { find(test::gguf_config("")); }, ErrorCode::kUnsupported, {"''"});
}

// Two lines with one name would hide the second.
TEST(ArchRegistry, NamesAreUnique) {
  std::set<std::string_view> gguf;
  std::set<std::string_view> classes;
  for (const ArchSpec& arch : all_archs()) {
    EXPECT_TRUE(arch.gguf_name.empty() || gguf.insert(arch.gguf_name).second) << arch.gguf_name;
    EXPECT_FALSE(arch.hf_names.empty()) << arch.gguf_name;
    for (const std::string_view name : arch.hf_names) {
      EXPECT_TRUE(classes.insert(name).second) << name;
    }
  }
}

TEST(ArchRegistry, AMissingNameIsACorruptFile) {
  const weights::Metadata hf(weights::Source::kHuggingFace, "model/config.json");
  expect_error([&] { find_arch(hf); }, ErrorCode::kCorruptFile, {"'architectures'"});
  const weights::Metadata gguf(weights::Source::kGguf, "model.gguf");
  expect_error([&] { find_arch(gguf); }, ErrorCode::kCorruptFile, {"general.architecture"});
}

}  // namespace
}  // namespace fathom::model
