// Tokenizers broken on purpose: each is refused, with the probe and what came of it.
// Called by ctest. Read next: src/codec/self_test.cc.
#include "codec/self_test.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "codec/gguf_tokenizer.h"
#include "codec/tokenizer_json.h"
#include "src/codec/test_vocabulary.h"
#include "support/error_check.h"

namespace fathom::codec {
namespace {

using fathom::test::expect_error;

Pipeline good_pipeline() {
  return make_gguf_pipeline(test::make_byte_vocabulary({}, {"<|end|>"}));
}

void expect_refused(Pipeline pipeline, std::initializer_list<std::string_view> says) {
  expect_error([&] { check_tokenizer(std::make_unique<TextTokenizer>(std::move(pipeline))); },
               ErrorCode::kCorruptFile, says);
}

// Gives one id for everything.
class OneId final : public PieceModel {
 public:
  explicit OneId(TokenId id) : id_(id) {}

  [[nodiscard]] std::unique_ptr<PieceModel::Run> start() const override {
    return std::make_unique<Run>(id_);
  }

  [[nodiscard]] std::optional<TokenId> find(std::string_view /*text*/) const override {
    return std::nullopt;
  }

 private:
  class Run final : public PieceModel::Run {
   public:
    explicit Run(TokenId id) : id_(id) {}

    void add(std::string_view /*word*/, std::vector<TokenId>& out) override { out.push_back(id_); }

   private:
    TokenId id_;
  };

  TokenId id_;
};

TEST(SelfTest, GivesAGoodTokenizerBack) {
  auto tokenizer = std::make_unique<TextTokenizer>(good_pipeline());
  const Tokenizer* before = tokenizer.get();
  EXPECT_EQ(check_tokenizer(std::move(tokenizer)).get(), before);
}

TEST(SelfTest, RefusesIdsOutOfRange) {
  for (const TokenId id : {-1, 257}) {
    Pipeline pipeline = good_pipeline();
    pipeline.model = std::make_unique<OneId>(id);
    expect_refused(std::move(pipeline), {"test.gguf", "self-test", "out of range"});
  }
}

TEST(SelfTest, RefusesAModelThatLosesText) {
  Pipeline pipeline = good_pipeline();
  pipeline.model = std::make_unique<OneId>('x');
  expect_refused(std::move(pipeline), {"\"Hello world, it's 1234567 o'clock.\"", "decode to \"x"});
}

TEST(SelfTest, RefusesADecoderThatChangesText) {
  Pipeline pipeline = good_pipeline();
  pipeline.decode_steps.push_back(make_decode_replace("o", "0"));
  expect_refused(std::move(pipeline), {"decode to \"Hell0 w0rld"});
}

TEST(SelfTest, RefusesANormalizerThatDropsBlanks) {
  Pipeline pipeline = good_pipeline();
  pipeline.normalizer = make_replace_text("  ", " ");
  expect_refused(std::move(pipeline), {"two blanks", "self-test"});
}

TEST(SelfTest, RefusesAMisplacedByte) {
  Pipeline pipeline = good_pipeline();
  pipeline.decode_text = [&vocabulary = *pipeline.vocabulary](size_t id, std::string& out) {
    out += vocabulary.texts[id == 'H' ? 'J' : id];
  };
  expect_refused(std::move(pipeline), {"decode to \"Jello"});
}

TEST(SelfTest, AllowsWhatAFileDoesNotPromise) {
  Pipeline pipeline = good_pipeline();
  pipeline.keeps_text = false;  // an uncased vocabulary, say
  pipeline.normalizer = make_lowercase();
  EXPECT_NE(check_tokenizer(std::make_unique<TextTokenizer>(std::move(pipeline))), nullptr);
}

TEST(SelfTest, AVocabularyNeedNotSpellEveryText) {
  constexpr std::string_view kWords = R"({"model":{"type":"WordLevel","vocab":{"a":0}}})";
  const auto tokenizer =
      check_tokenizer(std::make_unique<TextTokenizer>(read_tokenizer_json(kWords, "t.json")));
  EXPECT_EQ(tokenizer->encode("a", {}), std::vector<TokenId>{0});
}

}  // namespace
}  // namespace fathom::codec
