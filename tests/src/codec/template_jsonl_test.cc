// The protocol line by line.
// Called by ctest. Read next: src/codec/template_jsonl.h.
#include "codec/template_jsonl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace fathom::codec {
namespace {

nlohmann::json ask(const std::string& line) {
  return nlohmann::json::parse(answer_template_line(line));
}

TEST(TemplateJsonlTest, TextSpansAndTime) {
  const auto plain = ask(R"({"id":3,"source":"{{ x }}!","context":{"x":1}})");
  EXPECT_EQ(plain, nlohmann::json::parse(R"({"id":3,"text":"1!"})"));
  const auto spans =
      ask(R"({"id":"a","spans":true,"times":2,"source":"{{ bos_token }}{{ messages[0].content }}",)"
          R"("context":{"bos_token":"<s>","messages":[{"content":"hi"}]}})");
  EXPECT_EQ(spans["spans"],
            nlohmann::json::parse(R"([[0,3,"template"],[3,2,"message 0 content"]])"));
  EXPECT_GT(spans["microseconds"], 0.0);
  EXPECT_EQ(ask(R"({"source":"{{ strftime_now('%d %b %Y %H') }}","context":{},)"
                R"("now":"2025-07-04T09:08:07"})")["text"],
            "04 Jul 2025 09");
}

TEST(TemplateJsonlTest, EveryWrongLineHasAnAnswer) {
  for (const char* line :
       {"", "7", "{", R"({"id":1})", R"({"id":1,"source":"{{"})",
        R"({"source":"{{ 1/0 }}","context":{}})", R"({"source":"x","context":{},"now":"today"})",
        R"({"source":7,"context":{}})", R"({"source":"x","context":7})"}) {
    EXPECT_TRUE(ask(line).contains("error")) << line;
  }
  EXPECT_EQ(ask(R"({"id":1,"source":"{{"})")["id"], 1);
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_TRUE(ask("{\"id\":" + deep + ",\"source\":\"a\",\"context\":{}}").contains("error"));
  EXPECT_EQ(ask("{")["error"].get<std::string>().find("json.exception"), std::string::npos);
}

TEST(TemplateJsonlTest, LinesInLinesOut) {
  std::istringstream in("{\"id\":1,\"source\":\"a\",\"context\":{}}\n\n{\"id\":2}\n");
  std::ostringstream out;
  EXPECT_EQ(serve_template_jsonl(in, out), 0);
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  std::ostringstream broken;
  broken.setstate(std::ios::badbit);
  std::istringstream again("{}\n");
  EXPECT_EQ(serve_template_jsonl(again, broken), 1);
}

}  // namespace
}  // namespace fathom::codec
