// Places, origins and warnings of prompts small enough to check by eye.
// Called by ctest. Read next: src/api/prompt_view.h.
#include "api/prompt_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "src/codec/test_vocabulary.h"

namespace fathom::api {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Model {
  std::string source =
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
      "{% endfor %}";
  bool adds_bos = false;
  bool has_end = true;
};

std::unique_ptr<codec::Tokenizer> make_tokenizer(const Model& model) {
  weights::Metadata metadata = codec::test::make_byte_vocabulary(
      {}, {"<s>", "<|im_start|>", model.has_end ? "<|im_end|>" : "<|pad|>"});
  metadata.set("tokenizer.chat_template", model.source);
  metadata.set("tokenizer.ggml.bos_token_id", int64_t{256});
  metadata.set("tokenizer.ggml.add_bos_token", model.adds_bos);
  return codec::make_tokenizer(metadata);
}

PromptView view(const Model& model, const std::vector<codec::Message>& messages) {
  const auto tokenizer = make_tokenizer(model);
  return view_prompt(*tokenizer, codec::ChatTemplate::of_model(tokenizer->vocabulary()),
                     codec::make_conversation(messages));
}

TEST(PromptViewTest, EveryTokenHasItsPlaceAndOrigin) {
  const PromptView seen = view({}, {{"user", "hé"}});
  EXPECT_EQ(seen.template_name, "default");
  EXPECT_EQ(seen.rendered.text, "<|im_start|>user\nhé<|im_end|>\n");
  EXPECT_THAT(seen.warnings, IsEmpty());
  ASSERT_EQ(seen.tokens.size(), 11U);  // control, u s e r \n, h, two bytes of é, control, \n
  EXPECT_TRUE(seen.tokens[0].is_control);
  EXPECT_EQ(seen.tokens[0].origin, "template");
  EXPECT_EQ(seen.tokens[1].origin, "message 0 role");
  EXPECT_EQ(seen.tokens[5].origin, "template");
  EXPECT_EQ(seen.tokens[6].origin, "message 0 content");
  EXPECT_EQ(seen.tokens[8].origin, "message 0 content");
  size_t at = 0;
  for (const PromptToken& token : seen.tokens) {
    EXPECT_EQ(token.begin, at);
    at = token.end;
    EXPECT_EQ(seen.rendered.text.substr(token.begin, token.end - token.begin), token.bytes);
  }
  EXPECT_EQ(at, seen.rendered.text.size());
}

TEST(PromptViewTest, TheTokenizersBosHasNoPlace) {
  const PromptView seen = view({.adds_bos = true}, {{"user", "x"}});
  EXPECT_EQ(seen.tokens[0].id, 256);
  EXPECT_EQ(seen.tokens[0].origin, "tokenizer");
  EXPECT_EQ(seen.tokens[0].begin, seen.tokens[0].end);
  EXPECT_EQ(seen.tokens[1].begin, 0U);
}

// The tokenizer's BOS is nobody's text, even where a user wrote the same letters.
TEST(PromptViewTest, AUsersBosIsTheUsers) {
  const PromptView seen =
      view({.source = "{{ messages[0].content }}", .adds_bos = true}, {{"user", "<s>h"}});
  ASSERT_EQ(seen.tokens.size(), 5U);
  EXPECT_EQ(seen.tokens[0].origin, "tokenizer");
  EXPECT_EQ(seen.tokens[1].origin, "message 0 content");
  EXPECT_EQ(seen.tokens[1].begin, 0U);
  EXPECT_EQ(seen.tokens[4].end, 4U);
  EXPECT_THAT(seen.warnings, ElementsAre(HasSubstr("control token <s>")));
}

// Long conversations are looked through once.
TEST(PromptViewTest, ManyMessages) {
  std::vector<codec::Message> talk;
  for (int i = 0; i < 3000; ++i) {
    talk.push_back({i % 2 == 0 ? "user" : "assistant", "x"});
  }
  EXPECT_THAT(view({}, talk).warnings, IsEmpty());
}

TEST(PromptViewTest, WarnsOfControlTextOfUsers) {
  const PromptView seen = view({}, {{"user", "a<|im_end|>b<|im_end|>"}});
  EXPECT_THAT(seen.warnings, ElementsAre(AllOf(HasSubstr("message 0 content"),
                                               HasSubstr("<|im_end|>"), HasSubstr("plain text"))));
}

TEST(PromptViewTest, WarnsOfTwoBos) {
  const std::string once = "{{ bos_token }}{{ messages[0].content }}";
  const std::string twice = "{{ bos_token + bos_token }}{{ messages[0].content }}";
  EXPECT_THAT(view({.source = once}, {{"user", "x"}}).warnings, IsEmpty());
  EXPECT_THAT(view({.source = once, .adds_bos = true}, {{"user", "x"}}).warnings,
              ElementsAre(HasSubstr("both the chat template and the tokenizer")));
  EXPECT_THAT(view({.source = twice}, {{"user", "x"}}).warnings, ElementsAre(HasSubstr("twice")));
}

TEST(PromptViewTest, WarnsWhereNoEndMarkFollowsAnAnswer) {
  const std::vector<codec::Message> talk = {{"user", "u"}, {"assistant", "a"}, {"user", "v"}};
  EXPECT_THAT(view({}, talk).warnings, IsEmpty());
  const std::string open =
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}\n{% endfor %}";
  EXPECT_THAT(view({.source = open}, talk).warnings,
              ElementsAre(AllOf(HasSubstr("message 1"), HasSubstr("<|im_end|>"))));
  EXPECT_THAT(view({.source = open, .has_end = false}, talk).warnings,
              ElementsAre(HasSubstr("no token that ends an answer")));
  // A message that is to be continued has none.
  const auto tokenizer = make_tokenizer({});
  codec::Conversation conversation = codec::parse_conversation(
      R"({"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"a"}],
          "continue_final_message":true})",
      "f");
  EXPECT_THAT(
      view_prompt(*tokenizer, codec::ChatTemplate::of_model(tokenizer->vocabulary()), conversation)
          .warnings,
      IsEmpty());
}

TEST(PromptViewTest, OriginsInWords) {
  using codec::jinja::Origin;
  EXPECT_EQ(describe_origin({}), "template");
  EXPECT_EQ(describe_origin({Origin::Kind::kMessage, 2, "tool_calls[0].id"}),
            "message 2 tool_calls[0].id");
  EXPECT_EQ(describe_origin({Origin::Kind::kVariable, -1, "tools[1].name"}), "tools[1].name");
}

}  // namespace
}  // namespace fathom::api
