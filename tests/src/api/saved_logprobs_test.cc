// Files of log-probabilities: what is written is read, and nothing else is.
// Read next: api/saved_logprobs.cc.
#include "api/saved_logprobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom::api {
namespace {

constexpr int64_t kVocab = 3;
constexpr int64_t kChunk = 8;  // tokens 5, 6, 7 of a chunk are scored
constexpr size_t kHeadBytes = 40;

ChunkedText text_of(int64_t n_chunks) {
  ChunkedText text{.chunk = kChunk};
  for (int64_t i = 0; i < n_chunks * kChunk; ++i) {
    text.ids.push_back(static_cast<int32_t>(i % kVocab));
  }
  return text;
}

class SavedLogProbsTest : public testing::Test {
 protected:
  // Two chunks; the row of token i holds -i, -i - 0.25, -i - 0.5.
  std::string write_file(const char* name = "base.logp") {
    const ChunkedText text = text_of(2);
    const std::string path = folder_.path_of(name);
    LogProbWriter writer(path, "a model", kVocab, text);
    for (const int64_t first : {5, 13}) {
      std::vector<float> values;
      for (int64_t index = first; index < first + 3; ++index) {
        for (int i = 0; i < kVocab; ++i) {
          values.push_back(-static_cast<float>(index) - 0.25F * static_cast<float>(i));
        }
      }
      writer.write(
          {.first = first, .targets = {}, .log_probs = {values.data(), 3, kVocab, kVocab}});
    }
    writer.commit();
    return path;
  }

  // The file with `value` written over its byte `at` and those after it.
  template <class T>
  std::string damaged(size_t at, T value) {
    std::string bytes = test::read_text(write_file());
    std::memcpy(bytes.data() + at, &value, sizeof(value));
    return folder_.write("damaged.logp", bytes);
  }

  test::TempFolder folder_;
};

TEST_F(SavedLogProbsTest, WhatIsWrittenIsRead) {
  const SavedLogProbs saved(write_file());
  EXPECT_EQ(saved.model_name(), "a model");
  EXPECT_EQ(saved.n_vocab(), kVocab);
  EXPECT_EQ(saved.chunk(), kChunk);
  EXPECT_EQ(saved.n_chunks(), 2);
  for (const int64_t index : {5, 6, 7, 13, 14, 15}) {
    const auto start = -static_cast<float>(index);
    EXPECT_THAT(saved.row(index), testing::ElementsAre(start, start - 0.25F, start - 0.5F));
  }
  saved.release(5, 3);
  EXPECT_EQ(saved.row(6)[0], -6.0F);
  saved.require_same(kVocab, text_of(2));
  saved.require_same(kVocab, text_of(1));
  EXPECT_THAT(folder_.names(), testing::ElementsAre("base.logp"));  // nothing temporary stays
}

TEST_F(SavedLogProbsTest, AnUnfinishedFileNeverAppears) {
  { const LogProbWriter writer(folder_.path_of("base.logp"), "a model", kVocab, text_of(2)); }
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(SavedLogProbsTest, OtherRunsAreRefused) {
  const SavedLogProbs saved(write_file());
  const auto refuse = [&](int64_t n_vocab, const ChunkedText& text,
                          std::initializer_list<std::string_view> parts) {
    test::expect_error([&] { saved.require_same(n_vocab, text); }, ErrorCode::kInvalidArgument,
                       parts);
  };
  refuse(4, text_of(2), {"base.logp", "vocabulary", "found 3", "has 4"});
  ChunkedText text = text_of(2);
  text.chunk = 16;
  refuse(kVocab, text, {"-c", "found 8", "has 16"});
  refuse(kVocab, text_of(3), {"--chunks", "found 2", "has 3"});
  text = text_of(2);
  text.ids[11] = 0;
  refuse(kVocab, text, {"text", "token 11", "found 2", "has 0"});
}

TEST_F(SavedLogProbsTest, CutFilesAreRefused) {
  const std::string whole = test::read_text(write_file());
  EXPECT_EQ(whole.size(), kHeadBytes + 8 + 16 * 4 + 6 * 3 * 4);
  for (size_t size = 1; size < whole.size(); ++size) {
    const std::string path = folder_.write("cut.logp", whole.substr(0, size));
    test::expect_error([&] { SavedLogProbs saved(path); }, ErrorCode::kCorruptFile, {"cut.logp"});
  }
  const std::string path = folder_.write("long.logp", whole + "x");
  test::expect_error([&] { SavedLogProbs saved(path); }, ErrorCode::kCorruptFile,
                     {"found 185 bytes", "take 184"});
}

TEST_F(SavedLogProbsTest, ForeignAndDamagedHeadsAreRefused) {
  const auto refuse = [&](const std::string& path, ErrorCode code, std::string_view part) {
    test::expect_error([&] { SavedLogProbs saved(path); }, code, {path, part});
  };
  refuse(folder_.write("a.npy", "\x93NUMPY, not what --save-logits writes, but long enough"),
         ErrorCode::kCorruptFile, "--save-logits");
  refuse(damaged(8, uint32_t{2}), ErrorCode::kUnsupported, "version 2");
  refuse(damaged(12, uint32_t{5000}), ErrorCode::kCorruptFile, "no file can hold");
  for (const size_t field : {16, 24, 32}) {  // vocabulary, chunk, chunks
    for (const int64_t value : {int64_t{-1}, int64_t{0}, INT64_MAX, INT64_MAX / 4, INT64_MIN}) {
      refuse(damaged(field, value), ErrorCode::kCorruptFile, "no file can hold");
    }
    refuse(damaged(field, int64_t{9}), ErrorCode::kCorruptFile, "take ");
  }
  test::expect_error([&] { SavedLogProbs saved(folder_.path_of("missing")); }, ErrorCode::kNotFound,
                     {"missing"});
}

}  // namespace
}  // namespace fathom::api
