// fathom perplexity from outside: its numbers against those of fathom logits, saved runs, refusals.
// Read next: apps/fathom/perplexity.cc.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "support/default_model.h"
#include "support/program.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::app {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kText = "The quick brown fox jumps over the lazy dog, again and again.\n";

class PerplexityCommandTest : public testing::Test {
 protected:
  PerplexityCommandTest()
      : model_(test::tiny_chat_gguf().write(folder_.path_of("m.gguf"))),
        text_(folder_.write("text.txt", kText)) {}

  test::ProgramResult perplexity(const std::vector<std::string>& more) {
    return perplexity_of(model_, more);
  }

  // Of text_, in chunks of chunk_ tokens.
  test::ProgramResult perplexity_of(const std::string& model,
                                    const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"perplexity", "-m", model, "-f", text_, "-c", chunk_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run_program(FATHOM_PROGRAM, {.arguments = arguments});
  }

  // One line of error, nothing on stdout, no new file.
  void expect_refusal(const std::vector<std::string>& more, const std::string& part) {
    const auto names = folder_.names();
    const auto result = perplexity(more);
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(folder_.names(), names);
  }

  test::TempFolder folder_;
  std::string model_;
  std::string text_;
  std::string chunk_ = "16";
};

// Nats of the scored tokens of 16 byte tokens, from the file that fathom logits writes.
std::vector<double> nll_of_chunk(const std::string& model, const std::string& chunk,
                                 const std::string& out) {
  std::string ids;
  for (const char byte : chunk) {
    ids += (ids.empty() ? "" : ",") + std::to_string(static_cast<unsigned char>(byte));
  }
  const auto result = test::run_program(
      FATHOM_PROGRAM,
      {.arguments = {"logits", "-m", model, "--ids", ids, "--out", out, "--compute", "f32"}});
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string file = test::read_text(out);
  std::vector<float> logits(16 * test::kTinyVocab);
  const size_t bytes = logits.size() * sizeof(float);
  std::memcpy(logits.data(), file.data() + file.size() - bytes, bytes);
  std::vector<double> nll;
  for (size_t predicted = 9; predicted < 16; ++predicted) {
    const float* row = logits.data() + (predicted - 1) * test::kTinyVocab;
    double sum = 0;
    for (int i = 0; i < test::kTinyVocab; ++i) {
      sum += std::exp(static_cast<double>(row[i]));
    }
    nll.push_back(std::log(sum) -
                  static_cast<double>(row[static_cast<unsigned char>(chunk[predicted])]));
  }
  return nll;
}

TEST_F(PerplexityCommandTest, AgreesWithTheLogits) {
  const auto result = perplexity({"--compute", "f32", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["chunk"], 16);
  EXPECT_EQ(object["chunks"], 3);  // of 61 tokens: the last line end does not count
  EXPECT_EQ(object["scored_tokens"], 21);
  EXPECT_EQ(object["arithmetic"], "f32");
  EXPECT_TRUE(object["divergence"].is_null());
  double sum = 0;
  double squares = 0;
  for (size_t i = 0; i < 3; ++i) {
    for (const double nll : nll_of_chunk(model_, std::string(kText).substr(16 * i, 16),
                                         folder_.path_of("logits.npy"))) {
      sum += nll;
      squares += nll * nll;
    }
    EXPECT_NEAR(object["running"][i], std::exp(sum / (7.0 * static_cast<double>(i + 1))), 1e-6);
  }
  const double mean = sum / 21;
  EXPECT_NEAR(object["nll"], mean, 1e-9);
  EXPECT_NEAR(object["perplexity"], std::exp(mean), 1e-6);
  EXPECT_NEAR(object["standard_error"],
              std::exp(mean) * std::sqrt((squares / 21 - mean * mean) / 20), 1e-6);
}

TEST_F(PerplexityCommandTest, PrintsEveryChunkAndTheEstimate) {
  const auto result = perplexity({});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");  // no bar without a terminal
  EXPECT_THAT(result.out,
              testing::MatchesRegex("\\[1\\][0-9.]+,\\[2\\][0-9.]+,\\[3\\][0-9.]+,\n"
                                    "Final estimate: PPL = [0-9.]+ \\+/- [0-9.]+\n"
                                    "21 tokens scored, in 3 chunks of 16; [0-9.]+ s\n"));
  const json object = json::parse(perplexity({"--json"}).out);
  EXPECT_THAT(result.out,
              HasSubstr(fmt::format("PPL = {:.4f} +/- {:.5f}\n", object["perplexity"].get<double>(),
                                    object["standard_error"].get<double>())));
  EXPECT_THAT(perplexity({"--chunks", "2"}).out, HasSubstr("14 tokens scored, in 2 chunks"));
}

TEST_F(PerplexityCommandTest, ARunAgainstItselfDivergesByZero) {
  const std::string saved = folder_.path_of("base.logp");
  const json alone = json::parse(perplexity({"--save-logits", saved, "--json"}).out);
  const auto result = perplexity({"--against", saved, "-t", "1", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["perplexity"], alone["perplexity"]);
  const json& divergence = object["divergence"];
  EXPECT_EQ(divergence["model"], "m.gguf");
  EXPECT_NEAR(divergence["perplexity"].get<double>() / object["perplexity"].get<double>(), 1, 1e-6);
  for (const char* key : {"mean", "median", "p99", "max"}) {
    EXPECT_EQ(divergence[key], 0.0) << key;
  }
  EXPECT_EQ(divergence["same_top"], 1.0);
  EXPECT_EQ(divergence["worst_token"]["probability"],
            divergence["worst_token"]["saved_probability"]);
  // Fewer chunks than were saved are all compared; a run may replace the file it compares with.
  const auto again =
      perplexity({"--against", saved, "--chunks", "2", "--save-logits", saved, "--json"});
  EXPECT_EQ(json::parse(again.out)["divergence"]["max"], 0.0) << again.err;
  // More text than was saved: the first two chunks are compared.
  EXPECT_EQ(json::parse(perplexity({"--against", saved, "--json"}).out)["chunks"], 2);
}

TEST_F(PerplexityCommandTest, OtherWeightsDiverge) {
  const std::string saved = folder_.path_of("base.logp");
  const std::string other = test::tiny_chat_gguf({.seed = 2}).write(folder_.path_of("other.gguf"));
  ASSERT_EQ(perplexity({"--save-logits", saved}).status, 0);
  const auto result = perplexity_of(other, {"--against", saved, "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json divergence = json::parse(result.out)["divergence"];
  EXPECT_GT(divergence["mean"], 0.01);
  EXPECT_GE(divergence["p99"], divergence["median"]);
  EXPECT_GE(divergence["max"], divergence["p99"]);
  EXPECT_LT(divergence["same_top"], 1.0);
  const json& worst = divergence["worst_token"];
  const auto position = worst["position"].get<size_t>();
  EXPECT_EQ(worst["text"], std::string(1, kText[position]));
  EXPECT_EQ(worst["id"], kText[position]);
  EXPECT_NE(worst["probability"], worst["saved_probability"]);
  const std::string lines = perplexity_of(other, {"--against", saved}).out;
  for (const char* part : {"against m.gguf: PPL = ", "KL divergence: mean ", "same likeliest token",
                           "worst token: position "}) {
    EXPECT_THAT(lines, HasSubstr(part));
  }
}

TEST_F(PerplexityCommandTest, RunsThatCannotBeComparedAreRefused) {
  const std::string saved = folder_.path_of("base.logp");
  ASSERT_EQ(perplexity({"--save-logits", saved, "--chunks", "2"}).status, 0);
  expect_refusal({"--against", saved, "--chunks", "3"}, "--chunks");
  chunk_ = "8";
  expect_refusal({"--against", saved}, "-c");
  chunk_ = "16";
  expect_refusal({"--against", text_}, "--save-logits");
  expect_refusal({"--against", folder_.path_of("missing")}, "missing");
  text_ = folder_.write("other.txt", "The quick brown fox leaps over the lazy dog, and again.");
  expect_refusal({"--against", saved}, "token 20");
}

TEST_F(PerplexityCommandTest, BadTextsAndPlacesAreRefused) {
  chunk_ = "64";
  expect_refusal({}, "61 tokens");
  chunk_ = "16";
  expect_refusal({"--save-logits", folder_.path_of("no/such/folder.logp")}, "no/such");
  text_ = folder_.path_of("missing.txt");
  expect_refusal({}, "missing.txt");
  text_ = folder_.path();
  expect_refusal({}, folder_.path());
  text_ = folder_.write("empty.txt", "");
  expect_refusal({}, "0 tokens");
  model_ = test::tiny_gguf({}).write(folder_.path_of("no_vocabulary.gguf"));
  expect_refusal({}, "no vocabulary");
}

TEST_F(PerplexityCommandTest, InvalidUtf8IsReplacedWithAWarning) {
  text_ = folder_.write("bytes.txt", "a text of more than sixteen \xff tokens");
  const auto result = perplexity({"--json"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("UTF-8"));
  EXPECT_EQ(json::parse(result.out)["warnings"].size(), 1U);
}

TEST_F(PerplexityCommandTest, AnInterruptLeavesNoFile) {
  std::string text;
  while (text.size() < 4000000) {
    text += kText;
  }
  text_ = folder_.write("long.txt", text);
  const auto names = folder_.names();
  const auto result = test::run_program(
      FATHOM_PROGRAM, {.arguments = {"perplexity", "-m", model_, "-f", text_, "-c", "16",
                                     "--save-logits", folder_.path_of("base.logp")},
                       .interrupt_after_ms = 0});
  EXPECT_EQ(result.status, 130);
  EXPECT_EQ(folder_.names(), names);
}

TEST_F(PerplexityCommandTest, WrongUsageGivesTwo) {
  const std::vector<std::vector<std::string>> cases = {
      {"-m", "x"},
      {"-f", "x"},
      {"-m", "x", "-f", ""},
      {"-m", "x", "-f", "y", "-c", "7"},
      {"-m", "x", "-f", "y", "--chunks", "0"},
      {"-m", "x", "-f", "y", "--against", ""},
      {"-m", "x", "-f", "y", "--save-logits", ""},
      {"-m", "x", "-f", "y", "--kv-type", "q4_0"},
  };
  for (std::vector<std::string> arguments : cases) {
    arguments.insert(arguments.begin(), "perplexity");
    const auto result = test::run_program(FATHOM_PROGRAM, {.arguments = arguments});
    EXPECT_EQ(result.status, 2) << testing::PrintToString(arguments) << result.err;
    EXPECT_THAT(result.err, HasSubstr("--help"));
  }
}

constexpr const char* kStory =
    "The harbour wakes before the town does. At four in the morning the first boats come in, low "
    "in "
    "the water, and the men who unload them talk little, because the boxes are cold and the buyers "
    "are waiting. By six the ice has been swept from the quay, the gulls have had what fell, and "
    "the "
    "lorries stand in a row with their engines running. A boy counts the boxes twice and writes "
    "the "
    "number into a book that is older than he is. In the baker's window across the street a light "
    "goes on; she has been up since three, and her oven is the warmest place for a mile. People "
    "who "
    "know her come in by the back door, stamp their feet, and are given what is too dark to be "
    "sold. "
    "Nobody has ever asked her for money on a day with fog, and nobody can say when that began. At "
    "eight the school bell rings, and the harbour is left to the cats. The water rises again, a "
    "hand "
    "an hour, and lifts the boats one after the other from the mud, until all of them lie level "
    "and "
    "turn their bows to the wind. Then the harbour master walks along the wall with his stick and "
    "knocks on each stone, as his father did, and listens whether one of them answers differently "
    "from the day before. Once it did. They took the stone out and found behind it a bottle with a "
    "letter, so wet that not a word could be read, and the whole town spent that winter guessing "
    "what had been in it. Some said a will, others a bill; the teacher thought of a poem. The "
    "baker "
    "said that it was a recipe, and that she knew which one, and she baked it every Friday until "
    "the spring, and it was bought to the last crumb.";

class DefaultModelPagesTest : public test::DefaultModelFixture {
 protected:
  test::TempFolder folder_;
};

// All else in f32, so that nothing but the pages differs; 0.001 is the limit for pages of 8 bits.
TEST_F(DefaultModelPagesTest, Int8PagesStayNearF32) {
  const std::string text = folder_.write("story.txt", kStory);
  const std::string saved = folder_.path_of("f32.logp");
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"perplexity", "-m",  model(),    "-f", text, "-c", "256",
                                          "--compute",  "f32", "--chunks", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run_program(FATHOM_PROGRAM, {.arguments = arguments});
  };
  ASSERT_EQ(run({"--kv-type", "f32", "--save-logits", saved}).status, 0);
  const auto result = run({"--kv-type", "int8", "--against", saved, "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const double mean = json::parse(result.out)["divergence"]["mean"];
  EXPECT_GT(mean, 0.0);
  EXPECT_LT(mean, 1e-3);
}

}  // namespace
}  // namespace fathom::app
