// Events however the news of an answer are split between them. Read next:
// api/openai/answer_json.h.
#include "api/openai/answer_json.h"

#include <gtest/gtest.h>

#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"
#include "weights/model_file.h"

namespace fathom::api::openai {
namespace {

class AnswerJsonTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = weights::open_model(test::tiny_chat_gguf().write(folder_.path_of("m.gguf")));
    tokenizer_ = codec::make_tokenizer(file_->metadata);
  }

  static AnswerFacts echo_facts() {
    AnswerFacts facts;
    facts.is_chat = false;
    facts.is_stream = true;
    facts.n_logprobs = 0;
    facts.has_echo = true;
    facts.prompts = {{.ids = {'x', 'y', 'z'}, .echo = "xyz"}};
    return facts;
  }

  test::TempFolder folder_;
  std::unique_ptr<weights::ModelFile> file_;
  std::unique_ptr<codec::Tokenizer> tokenizer_;
};

ChoiceNews prompt_news() {
  ChoiceNews news;
  news.prompt.push_back({.id = 'y', .logprob = -1.0F, .best = {}});
  news.prompt.push_back({.id = 'z', .logprob = -2.0F, .best = {}});
  return news;
}

ChoiceNews token_news() {
  ChoiceNews news;
  news.text = "A";
  news.tokens.push_back({.sampled = {.id = 'A', .logprob = -3.0F, .best = {}}});
  news.times.emplace_back();
  return news;
}

// The writer may look between the end of the prompt and the first token.
TEST_F(AnswerJsonTest, EventsAreTheSameHoweverNewsAreSplit) {
  AnswerJson apart(*tokenizer_, echo_facts());
  std::string in_two;
  apart.append_events(0, prompt_news(), in_two);
  apart.append_events(0, token_news(), in_two);
  AnswerJson together(*tokenizer_, echo_facts());
  ChoiceNews all = prompt_news();
  all.add(token_news());
  std::string in_one;
  together.append_events(0, all, in_one);
  EXPECT_EQ(in_two, in_one);
  EXPECT_NE(in_two.find(R"("tokens":["x","y","z"])"), std::string::npos) << in_two;
  EXPECT_NE(in_two.find(R"("text_offset":[3])"), std::string::npos) << in_two;
}

}  // namespace
}  // namespace fathom::api::openai
