// Requests and answers line by line, broken lines included.
// Called by ctest.
#include "codec/jsonl_protocol.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "src/codec/test_vocabulary.h"

namespace fathom::codec {
namespace {

TEST(Jsonl, AnswersEveryLine) {
  const auto tokenizer = make_tokenizer(test::make_byte_vocabulary({}, {"<x>"}));
  std::istringstream in(
      "{\"id\":0,\"op\":\"encode\",\"text\":\"a<x>\",\"parse_special\":true}\n"
      "\n"
      "{\"id\":1,\"op\":\"encode\",\"bytes_hex\":\"61\"}\n"
      "{\"id\":\"two\",\"op\":\"decode\",\"ids\":[104,105,256]}\n"
      "{\"id\":3,\"op\":\"decode\",\"ids\":[999]}\n"
      "{\"id\":4,\"op\":\"encode\",\"bytes_hex\":\"6\"}\n"
      "{\"id\":5,\"op\":\"encode\",\"bytes_hex\":\"zz\"}\n"
      "{\"id\":6,\"op\":\"fly\"}\n"
      "{\"id\":7,\"op\":\"encode\"}\n"
      "not json\n"
      "[1]\n");
  std::ostringstream out;
  EXPECT_EQ(serve_jsonl(*tokenizer, in, out), 0);
  std::istringstream lines(out.str());
  std::vector<nlohmann::json> answers;
  for (std::string line; std::getline(lines, line);) {
    answers.push_back(nlohmann::json::parse(line));
  }
  ASSERT_EQ(answers.size(), 10u);
  EXPECT_EQ(answers[0], nlohmann::json::parse("{\"id\":0,\"ids\":[97,256]}"));
  EXPECT_EQ(answers[1], nlohmann::json::parse("{\"id\":1,\"ids\":[97]}"));
  EXPECT_EQ(answers[2], nlohmann::json::parse("{\"id\":\"two\",\"text\":\"hi<x>\"}"));
  for (size_t i = 3; i < 10; ++i) {
    EXPECT_TRUE(answers[i].contains("error")) << answers[i];
  }
  EXPECT_EQ(answers[7].at("id"), 7);
}

TEST(Jsonl, AFailedOutputEndsIt) {
  const auto tokenizer = make_tokenizer(test::make_byte_vocabulary({}, {}));
  std::istringstream in("{\"id\":0,\"text\":\"a\"}\n{\"id\":1,\"text\":\"a\"}\n");
  std::ostringstream out;
  out.setstate(std::ios::failbit);
  EXPECT_EQ(serve_jsonl(*tokenizer, in, out), 1);
}

}  // namespace
}  // namespace fathom::codec
