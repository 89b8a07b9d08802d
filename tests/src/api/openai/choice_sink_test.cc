// From ids to news: stop strings, ends, what is kept. Read next: api/openai/choice_sink.h.
#include "api/openai/choice_sink.h"

#include <gtest/gtest.h>

#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"
#include "weights/model_file.h"

namespace fathom::api::openai {
namespace {

class ChoiceSinkTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = weights::open_model(test::tiny_chat_gguf().write(folder_.path_of("m.gguf")));
    tokenizer_ = codec::make_tokenizer(file_->metadata);
  }

  ChoiceSink sink(ChoiceOptions options) {
    return {*tokenizer_, std::move(options),
            [this](ChoiceNews news) { all_.add(std::move(news)); }};
  }

  // Pushes bytes as tokens until the sink wants no more; gives how many it took.
  static int push(ChoiceSink& sink, std::string_view bytes) {
    int n = 0;
    for (const char byte : bytes) {
      ++n;
      if (!sink.on_token({static_cast<unsigned char>(byte), nullptr, false})) {
        break;
      }
    }
    return n;
  }

  test::TempFolder folder_;
  std::unique_ptr<weights::ModelFile> file_;
  std::unique_ptr<codec::Tokenizer> tokenizer_;
  ChoiceNews all_;
};

TEST_F(ChoiceSinkTest, AStopStringEndsTheAnswer) {
  ChoiceSink one = sink({.stops = {"cd"}});
  EXPECT_EQ(push(one, "abcdef"), 4);
  one.on_finish(engine::FinishReason::kStop, {.generated_tokens = 4}, "");
  EXPECT_EQ(all_.text, "ab");
  ASSERT_TRUE(all_.end.has_value());
  EXPECT_EQ(all_.end->stop_text, "cd");
  EXPECT_EQ(all_.end->reason, engine::FinishReason::kStop);
  EXPECT_EQ(all_.end->usage.generated_tokens, 4);
  EXPECT_EQ(all_.times.size(), 4U);
  EXPECT_TRUE(all_.tokens.empty());  // nobody asked
}

TEST_F(ChoiceSinkTest, TheStopStringMayStay) {
  ChoiceSink one = sink({.stops = {"cd"}, .include_stop = true});
  push(one, "abcdef");
  one.on_finish(engine::FinishReason::kStop, {}, "");
  EXPECT_EQ(all_.text, "abcd");
}

TEST_F(ChoiceSinkTest, StopStringsWithinTheLeastTokensEndNothing) {
  ChoiceSink one = sink({.stops = {"b"}, .min_tokens = 2});
  EXPECT_EQ(push(one, "abcb"), 4);
  EXPECT_EQ(all_.text, "abc");
}

TEST_F(ChoiceSinkTest, HeldBackTextComesWithTheEnd) {
  ChoiceSink one = sink({.stops = {"bcd"}});
  push(one, "abc");
  EXPECT_EQ(all_.text, "a");
  one.on_finish(engine::FinishReason::kLength, {}, "");
  EXPECT_EQ(all_.text, "abc");
  EXPECT_EQ(all_.end->reason, engine::FinishReason::kLength);
  EXPECT_EQ(all_.end->stop_text, "");
}

TEST_F(ChoiceSinkTest, EndTokensOfTheRequestAreNamed) {
  ChoiceSink one = sink({.stop_ids = {'x'}, .keep_tokens = true});
  one.on_token({'x', nullptr, true});
  one.on_finish(engine::FinishReason::kStop, {}, "");
  EXPECT_EQ(all_.end->stop_id, 'x');
  EXPECT_EQ(all_.text, "");
  ASSERT_EQ(all_.tokens.size(), 1U);
  EXPECT_TRUE(all_.tokens[0].is_end);
  all_ = {};
  ChoiceSink other = sink({});
  other.on_token({test::kTinyEnd, nullptr, true});
  other.on_finish(engine::FinishReason::kStop, {}, "");
  EXPECT_FALSE(all_.end->stop_id.has_value());
}

TEST_F(ChoiceSinkTest, LogprobsAreKeptWhenAsked) {
  ChoiceSink one = sink({.keep_tokens = true});
  const sample::Sampled sampled = {.id = 'a', .logprob = -0.5F, .best = {{'a', -0.5F}}};
  one.on_token({'a', &sampled, false});
  const sample::Sampled of_prompt[] = {{.id = 7, .logprob = -1.0F, .best = {}}};
  one.on_prompt(of_prompt);
  ASSERT_EQ(all_.tokens.size(), 1U);
  EXPECT_EQ(all_.tokens[0].sampled.logprob, -0.5F);
  EXPECT_EQ(all_.tokens[0].sampled.best.size(), 1U);
  ASSERT_EQ(all_.prompt.size(), 1U);
  EXPECT_EQ(all_.prompt[0].id, 7);
}

TEST_F(ChoiceSinkTest, ASilentChoiceHasNeitherTextNorTokens) {
  ChoiceSink one = sink({.keep_tokens = true, .is_silent = true});
  push(one, "a");
  one.on_finish(engine::FinishReason::kStop, {.generated_tokens = 1}, "");
  EXPECT_EQ(all_.text, "");
  EXPECT_TRUE(all_.tokens.empty());
  EXPECT_EQ(all_.end->usage.generated_tokens, 0);
  EXPECT_EQ(all_.end->reason, engine::FinishReason::kLength);
}

TEST_F(ChoiceSinkTest, FailuresKeepTheirMessage) {
  ChoiceSink one = sink({});
  one.on_finish(engine::FinishReason::kError, {}, "NaN in layer 3");
  EXPECT_EQ(all_.end->reason, engine::FinishReason::kError);
  EXPECT_EQ(all_.end->message, "NaN in layer 3");
}

}  // namespace
}  // namespace fathom::api::openai
