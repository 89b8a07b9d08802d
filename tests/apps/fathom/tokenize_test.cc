// fathom tokenize from outside. Read next: apps/fathom/tokenize.cc.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::app {
namespace {

class TokenizeTest : public testing::Test {
 protected:
  TokenizeTest() : model_(test::tiny_chat_gguf().write(folder_.path_of("m.gguf"))) {}

  test::ProgramResult tokenize(std::vector<std::string> more, const std::string& input = "") {
    std::vector<std::string> arguments = {"tokenize", "-m", model_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run_program(FATHOM_PROGRAM, {.arguments = arguments, .standard_input = input});
  }

  test::TempFolder folder_;
  std::string model_;
};

TEST_F(TokenizeTest, TextAndStdinGiveTheSameIds) {
  EXPECT_EQ(tokenize({"hi"}).out, "104 105\n");
  EXPECT_EQ(tokenize({}, "hi").out, "104 105\n");
  EXPECT_EQ(tokenize({}, "hi\n").out, "104 105 10\n");
  EXPECT_EQ(tokenize({""}).out, "\n");
}

TEST_F(TokenizeTest, SpecialTokensOnRequest) {
  EXPECT_EQ(tokenize({"<|im_end|>", "--parse-special"}).out, "257\n");
  EXPECT_EQ(tokenize({"<|im_end|>"}).out, "60 124 105 109 95 101 110 100 124 62\n");
}

TEST_F(TokenizeTest, JsonLines) {
  const auto result = tokenize({"--jsonl"},
                               "{\"id\":0,\"op\":\"encode\",\"text\":\"hi\"}\n"
                               "{\"id\":1,\"op\":\"decode\",\"ids\":[104,105]}\n");
  EXPECT_EQ(result.status, 0);
  const size_t middle = result.out.find('\n');
  EXPECT_EQ(nlohmann::json::parse(result.out.substr(0, middle))["ids"],
            (std::vector<int>{104, 105}));
  EXPECT_EQ(nlohmann::json::parse(result.out.substr(middle + 1))["text"], "hi");
}

TEST_F(TokenizeTest, PiecesAndJsonShowEveryToken) {
  const auto table = tokenize({"--pieces", "--parse-special", "h\u00e9\n<|im_end|>"});
  EXPECT_EQ(
      table.out,
      "     0      104  h\n     1      195  \\xC3\n     2      169  \\xA9\n     3       10  \\n\n"
      "     4      257  <|im_end|>\n");
  EXPECT_EQ(table.err, "5 tokens, 13 characters, 14 bytes: 2.60 characters a token\n");
  const auto object = nlohmann::json::parse(tokenize({"--json", "hi"}).out);
  EXPECT_EQ(object["n_tokens"], 2);
  EXPECT_EQ(object["ids"], (std::vector<int>{104, 105}));
  EXPECT_EQ(object["tokens"][1]["text"], "i");
  EXPECT_EQ(object["tokens"][1]["bytes"], std::vector<int>{105});
}

TEST_F(TokenizeTest, JsonLinesRefuseWhatIsNoId) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  for (const std::string& line :
       {std::string(R"({"op":"decode","ids":[1.5]})"),
        std::string(R"({"op":"decode","ids":[4294967297]})"),
        std::string(R"({"op":"decode","ids":7})"), "{\"id\":" + deep + ",\"text\":\"a\"}"}) {
    const auto result = tokenize({"--jsonl"}, line + "\n");
    EXPECT_EQ(result.status, 0);
    EXPECT_TRUE(nlohmann::json::parse(result.out).contains("error")) << result.out;
  }
}

TEST_F(TokenizeTest, DecodesIds) {
  EXPECT_EQ(tokenize({"--decode", "104,105,257"}).out, "hi<|im_end|>\n");
  const auto wrong = tokenize({"--decode", "9999"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.err.find("9999"), std::string::npos);
  EXPECT_NE(tokenize({"--decode", "-1"}).err.find("--decode"), std::string::npos);
}

TEST_F(TokenizeTest, AClosedPipeEndsQuietly) {
  std::string lines;
  for (int i = 0; i < 20000; ++i) {
    lines += "{\"id\":1,\"text\":\"hi\"}\n";
  }
  const std::string input = folder_.write("lines.jsonl", lines);
  const auto result = test::run_program(
      "/bin/bash",
      {.arguments = {"-c", std::string(FATHOM_PROGRAM) + " tokenize -m " + model_ + " --jsonl < " +
                               input + " | head -c 5; exit ${PIPESTATUS[0]}"}});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "{\"id\"");
  EXPECT_EQ(result.err, "");
}

// Tensors are not needed.
TEST_F(TokenizeTest, AFileWithoutTensorsIsEnough) {
  test::GgufBuilder builder;
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) {
    texts.push_back(test::byte_character(byte));
  }
  builder.set("general.architecture", "llama");
  builder.set("tokenizer.ggml.model", "gpt2");
  builder.set("tokenizer.ggml.pre", "gpt-2");
  builder.set("tokenizer.ggml.tokens", texts);
  builder.set("tokenizer.ggml.merges", std::vector<std::string>{});
  model_ = builder.write(folder_.path_of("vocab.gguf"));
  EXPECT_EQ(tokenize({"hi"}).out, "104 105\n");
}

TEST_F(TokenizeTest, UnknownPreTokenizersAreRefused) {
  model_ = test::tiny_chat_gguf()
               .remove("tokenizer.ggml.pre")
               .set("tokenizer.ggml.pre", "nosuch")
               .write(folder_.path_of("pre.gguf"));
  const auto result = tokenize({"hi"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("nosuch"), std::string::npos);
}

}  // namespace
}  // namespace fathom::app
