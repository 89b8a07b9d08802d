// Overrides of keys that are there, that something would read, and that nothing knows.
#include "api/overrides.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/model/arch/configs.h"
#include "support/error_check.h"
#include "support/tiny_chat_model.h"

namespace fathom::api {
namespace {

using test::expect_error;
using test::hf_config;
using test::MadeFile;

using Texts = std::vector<std::string>;

void expect_refused(weights::ModelFile& file, const Texts& texts,
                    std::initializer_list<std::string_view> parts) {
  expect_error([&] { apply_overrides(file, texts); }, ErrorCode::kInvalidArgument, parts);
}

TEST(Overrides, KeysThatAreThereOrWouldBeRead) {
  MadeFile file = hf_config("LlamaForCausalLM");
  weights::Metadata& metadata = file.file().metadata;
  metadata.set("unused", std::monostate{});
  apply_overrides(file.file(), Texts{"hidden_size=32", "rope_theta=20000.5", "unused=3",
                                     "rope_scaling.rope_type=\"linear\"", "rope_scaling.factor=2",
                                     "generation.temperature=0.5", "eos_token_id=[7]"});
  EXPECT_EQ(metadata.find_int("hidden_size"), 32);
  EXPECT_EQ(test::read_config(file).ropes[0].theta, 20000.5);
  EXPECT_EQ(test::read_config(file).ropes[0].factor, 2.0);
  apply_overrides(file.file(), Texts{"rope_scaling=null"});
  EXPECT_EQ(test::read_config(file).ropes[0].factor, 1.0);
}

TEST(Overrides, SlipsOfThePenAreRefused) {
  MadeFile file = hf_config("LlamaForCausalLM");
  weights::ModelFile& model = file.file();
  expect_refused(
      model, {"rope_tehta=3"},
      {"override of key 'rope_tehta'", "model/config.json has no such key", "rope_theta"});
  expect_refused(model, {"hiden_size=3"}, {"'hiden_size'", "hidden_size"});
  expect_refused(model, {"num_hiden_layers=3"}, {"'num_hiden_layers'", "num_hidden_layers"});
  expect_refused(model, {"nothing.like.it=3"}, {"a key that `fathom inspect` prints"});
  expect_refused(model, {"rope_tehta=null"}, {"'rope_tehta'"});
  // Another name of a size whose first name is there would be read by nobody.
  expect_refused(model, {"n_layer=3"}, {"'n_layer'"});
  // Read by Gemma 2, not by Llama.
  expect_refused(model, {"final_logit_softcapping=3.5"}, {"'final_logit_softcapping'"});
  MadeFile gemma = hf_config("Gemma2ForCausalLM");
  apply_overrides(gemma.file(), Texts{"final_logit_softcapping=3.5"});
  EXPECT_EQ(test::read_config(gemma).logit_soft_cap, 3.5);
}

TEST(Overrides, TokenizerKeysOfGguf) {
  const auto file = test::tiny_chat_gguf().parse();
  apply_overrides(*file, Texts{"tokenizer.ggml.add_eos_token=true", "general.sampling.temp=0.5"});
  EXPECT_EQ(file->metadata.find_bool("tokenizer.ggml.add_eos_token"), true);
  expect_refused(*file, {"tokenizer.ggml.add_eso_token=true"},
                 {"'tokenizer.ggml.add_eso_token'", "tokenizer.ggml.add_eos_token"});
  expect_refused(*file, {"llama.rope.freq_bsae=1.5"},
                 {"'llama.rope.freq_bsae'", "llama.rope.freq_base"});
}

// Nobody knows what a model of an unknown kind reads.
TEST(Overrides, UnknownKindsTakeAnyKey) {
  MadeFile file = hf_config("StrangeForCausalLM");
  apply_overrides(file.file(), Texts{"strange=1"});
  EXPECT_EQ(file.file().metadata.find_int("strange"), 1);
}

TEST(Overrides, ValuesAreCheckedAsEver) {
  MadeFile file = hf_config("LlamaForCausalLM");
  expect_refused(file.file(), {"hidden_size=wide"}, {"'hidden_size'", "wide"});
  expect_refused(file.file(), {"hidden_size"}, {"KEY=VALUE"});
}

}  // namespace
}  // namespace fathom::api
