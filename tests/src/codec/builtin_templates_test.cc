// The formats by name, whole conversations and what they refuse.
// Called by ctest. Read next: src/codec/builtin_templates.cc.
#include "codec/builtin_templates.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/chat_template.h"
#include "support/error_check.h"

namespace fathom::codec {
namespace {

std::string render(std::string_view name, const std::vector<Message>& messages) {
  Vocabulary vocabulary;
  vocabulary.texts = {"<s>", "</s>"};
  vocabulary.bos = 0;
  vocabulary.eos = 1;
  return ChatTemplate::of_model(vocabulary, name).render(make_conversation(messages)).text;
}

const std::vector<Message> kTalk = {
    {"system", "S"}, {"user", " u1 "}, {"assistant", "a1"}, {"user", "u2"}};

TEST(BuiltinTemplatesTest, EachFormatInFull) {
  EXPECT_EQ(render("chatml", kTalk),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n u1 <|im_end|>\n"
            "<|im_start|>assistant\na1<|im_end|>\n<|im_start|>user\nu2<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(render("llama3", kTalk),
            "<s><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nu1<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\na1<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nu2<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  EXPECT_EQ(render("mistral", kTalk), "<s>[INST] S\n\n u1  [/INST]a1</s>[INST] u2 [/INST]");
  EXPECT_EQ(render("gemma", kTalk),
            "<s><start_of_turn>user\nS\n\nu1<end_of_turn>\n<start_of_turn>model\na1<end_of_turn>\n"
            "<start_of_turn>user\nu2<end_of_turn>\n<start_of_turn>model\n");
  EXPECT_EQ(render("gemma", {{"user", "u"}}),
            "<s><start_of_turn>user\nu<end_of_turn>\n<start_of_turn>model\n");
}

TEST(BuiltinTemplatesTest, TurnsThatDoNotFitAreRefused) {
  for (const char* name : {"mistral", "gemma"}) {
    test::expect_error(
        [&] {
          render(name, {{"system", "s"}});
        },
        ErrorCode::kInvalidArgument, {"must follow the system message"});
    test::expect_error(
        [&] {
          render(name, {{"user", "a"}, {"user", "b"}});
        },
        ErrorCode::kInvalidArgument, {"take turns"});
    test::expect_error(
        [&] {
          render(name, {{"assistant", "a"}});
        },
        ErrorCode::kInvalidArgument, {"take turns"});
  }
}

// Without a model there are no tokens to write, and nothing else changes.
TEST(BuiltinTemplatesTest, WorkWithoutAVocabulary) {
  EXPECT_EQ(ChatTemplate::of_model({}, "mistral").render(make_conversation(kTalk)).text,
            "[INST] S\n\n u1  [/INST]a1[INST] u2 [/INST]");
}

TEST(BuiltinTemplatesTest, Names) {
  EXPECT_EQ(builtin_template_names(), "chatml, llama3, mistral, gemma");
  EXPECT_FALSE(find_builtin_template("alpaca").has_value());
}

}  // namespace
}  // namespace fathom::codec
