// The engine against jinja2: the committed cases; then spans, limits, variables.
// Called by ctest. Read next: tools/make_template_cases.py.
#include "codec/jinja_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "support/test_data.h"

namespace fathom::codec::jinja {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

RenderOptions at_noon() {
  std::tm now{};
  now.tm_year = 125;
  now.tm_mon = 6;
  now.tm_mday = 4;
  now.tm_hour = 9;
  now.tm_min = 8;
  now.tm_sec = 7;
  return {.now = now};
}

std::string render(std::string_view source, std::string_view variables = "{}",
                   const Limits& limits = {}) {
  Variables set;
  set.set_all(variables);
  return Template::parse(source, limits).render(set, at_noon()).text;
}

// The error's text; the code must be `code`.
std::string error_of(std::string_view source, ErrorCode code = ErrorCode::kInvalidArgument,
                     std::string_view variables = "{}", const Limits& limits = {}) {
  try {
    return "no error, but: " + render(source, variables, limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
}

// "message 1 content: hi" for each span.
std::vector<std::string> spans_of(const Rendered& rendered) {
  std::vector<std::string> out;
  size_t at = 0;
  for (const Span& span : rendered.spans) {
    EXPECT_EQ(span.begin, at);
    EXPECT_GT(span.length, 0u);
    at += span.length;
    const Origin& origin = rendered.origins[span.origin];
    const std::string text = rendered.text.substr(span.begin, span.length);
    if (origin.kind == Origin::Kind::kTemplate) {
      out.push_back("template: " + text);
    } else if (origin.kind == Origin::Kind::kMessage) {
      out.push_back("message " + std::to_string(origin.message) + " " + origin.path + ": " + text);
    } else {
      out.push_back("variable " + origin.path + ": " + text);
    }
  }
  EXPECT_EQ(at, rendered.text.size());
  return out;
}

std::vector<std::string> spans_of(std::string_view source, std::string_view variables) {
  Variables set;
  set.set_all(variables);
  return spans_of(Template::parse(source).render(set));
}

TEST(Template, AgreesWithTheReference) {
  std::ifstream file(fathom::test::test_data("cases/template/cases.json"));
  ASSERT_TRUE(file) << "cases.json is missing: run tools/make_template_cases.py";
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const Json all = Json::parse(text);
  std::map<std::string, Variables> contexts;
  for (const auto& [name, context] : all.at("contexts").items()) {
    std::string variables = context.dump();
    if (name == "values") {  // the JSON library has no integers of this size
      const std::string key = "\"big\":";
      const size_t begin = variables.find(key) + key.size();
      variables.replace(begin, variables.find(',', begin) - begin,
                        "123456789012345678901234567890");
    }
    contexts[name].set_all(variables);
  }
  ASSERT_GT(all.at("cases").size(), 3000u);
  size_t n_wrong = 0;
  for (const Json& one : all.at("cases")) {
    const auto source = one[1].get<std::string>();
    Json got;
    try {
      got = Template::parse(source).render(contexts.at(one[0]), at_noon()).text;
    } catch (const Error& error) {
      if (one[2].is_object()) {
        const auto sentence = one[2].at("error").get<std::string>();
        EXPECT_THAT(error.what(), StartsWith(sentence));
        got = one[2];
      }
    }
    if (got != one[2] && ++n_wrong <= 20) {
      ADD_FAILURE() << source << "\n  expected " << one[2] << "\n  found    " << got;
    }
  }
  EXPECT_EQ(n_wrong, 0u);
}

TEST(Template, MarksWhatCameFromMessages) {
  const char* kChat =
      R"({"messages":[{"role":"user","content":" a<|x|>b "},{"role":"tool","content":"AB"}],)"
      R"("bos_token":"<s>","tools":[{"name":"f"}]})";
  EXPECT_THAT(
      spans_of("{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}"
               "{% endfor %}",
               kChat),
      ::testing::ElementsAre("template: <s>[", "message 0 role: user", "template: ]",
                             "message 0 content: a<|x|>b", "template: [", "message 1 role: tool",
                             "template: ]", "message 1 content: AB"));
  // Changed, cut and joined text keeps its origin.
  EXPECT_THAT(
      spans_of("{{ (messages[0].content ~ '-' ~ messages[1].content)[3:9] | upper }}"
               "{{ messages[1].content.replace('B', 'x') }}{{ messages[0].content.split('|')[1] }}",
               kChat),
      ::testing::ElementsAre("message 0 content: |X|>B ", "message 1 content: A", "template: x",
                             "message 0 content: x"));
  EXPECT_THAT(spans_of("{{ tools | tojson }}", kChat),
              ::testing::ElementsAre("variable tools: [", "variable tools[0]: {\"name\": ",
                                     "variable tools[0].name: \"f\"", "variable tools[0]: }",
                                     "variable tools: ]"));
  EXPECT_THAT(spans_of("{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(messages[1].content) }}"
                       "{% set y %}{{ messages[1].content | lower }}!{% endset %}{{ y }}",
                       kChat),
              ::testing::ElementsAre("template: <", "message 1 content: AB", "template: >",
                                     "message 1 content: ab", "template: !"));
}

TEST(Template, TrustsOnlyWhatItIsTold) {
  Variables variables;
  variables.set_json("date", "\"today\"", Variables::From::kUser);
  variables.set_text("name", "a\xff", Variables::From::kUser);
  variables.set_text("end", "</s>", Variables::From::kTemplate);
  variables.set_bool("flag", true);
  const Template parsed = Template::parse("{{ date }}{{ name }}{{ end }}{{ flag }}");
  EXPECT_THAT(spans_of(parsed.render(variables)),
              ::testing::ElementsAre("variable date: today", "variable name: a\uFFFD",
                                     "template: </s>True"));
  EXPECT_TRUE(parsed.reads("date"));
  EXPECT_FALSE(parsed.reads("tools"));
}

TEST(Template, SaysWhatTheAssistantWrote) {
  Variables variables;
  const Rendered rendered =
      Template::parse("a{% generation %}bc{% endgeneration %}d").render(variables);
  ASSERT_EQ(rendered.generated.size(), 1u);
  EXPECT_EQ(rendered.generated[0], std::make_pair(size_t{1}, size_t{3}));
}

TEST(Template, RefusesWithTheTemplatesSentence) {
  EXPECT_THAT(error_of("\n{{ raise_exception('roles must alternate') }}"),
              StartsWith("roles must alternate (the chat template refuses these messages, line 2"));
  EXPECT_THAT(error_of("a\n{{ 1 | nosuch }}"), HasSubstr("line 2: No filter named 'nosuch'"));
  EXPECT_THAT(error_of("{% if x %}"), HasSubstr("'elif' or 'else' or 'endif'"));
  EXPECT_THAT(error_of("{{ a.b }}"), HasSubstr("'a' is undefined"));
  EXPECT_THAT(error_of("a\xff"), HasSubstr("byte 1 (0xff) is not valid UTF-8"));
  EXPECT_THAT(error_of("", ErrorCode::kInvalidArgument, "[1]"),
              HasSubstr("expected a JSON object"));
  EXPECT_THAT(error_of("", ErrorCode::kInvalidArgument, "{\"a\":\"\\ud800\"}"), HasSubstr("byte"));
}

TEST(Template, EndsEveryTemplate) {
  constexpr auto kLimit = ErrorCode::kResourceExhausted;
  const Limits few{.max_steps = 100'000};
  const std::string loop = "{% for i in range(100000) %}";
  EXPECT_THAT(error_of(loop + loop + "{% endfor %}{% endfor %}", kLimit, "{}", few),
              HasSubstr("steps"));
  EXPECT_THAT(error_of("{% set ns = namespace(s='x') %}" + loop +
                           "{% set ns.s = ns.s + ns.s %}{% endfor %}",
                       kLimit, "{}", few),
              HasSubstr("steps"));
  EXPECT_THAT(error_of("{{ 'x' * 100 }}", kLimit, "{}", {.max_output_bytes = 99}),
              HasSubstr("limit of 99 bytes"));
  EXPECT_THAT(error_of("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", kLimit),
              HasSubstr("nested too deep"));
  EXPECT_THAT(error_of("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", kLimit),
              HasSubstr("nested too deep"));
  EXPECT_THAT(error_of("{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns }}", kLimit),
              HasSubstr("nested too deep"));
  EXPECT_THAT(
      error_of("{{ " + std::string(1000, '(') + "1" + std::string(1000, ')') + " }}", kLimit),
      HasSubstr("nested more than"));
  std::string sum = "{{ 1";
  for (int i = 0; i < 1000; ++i) {
    sum += " + 1";
  }
  EXPECT_THAT(error_of(sum + " }}", kLimit), HasSubstr("an expression of more than"));
  EXPECT_THAT(error_of("{{ range(10 ** 9) }}"), HasSubstr("Range too big"));
  EXPECT_THAT(error_of("{{ 10 ** (10 ** 9) }}"), HasSubstr("bits"));
  EXPECT_THAT(error_of(std::string(100, 'x'), kLimit, "{}", {.max_source_bytes = 99}),
              HasSubstr("100 bytes, at most 99"));
  EXPECT_THAT(
      error_of("", kLimit, "{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}"),
      HasSubstr("nested more than"));
}

TEST(Template, FreesLongChainsAndCycles) {
  const std::string loop = "{% for i in range(100000) %}";
  EXPECT_EQ(
      render("{% set ns = namespace(l=[]) %}" + loop + "{% set ns.l = [ns.l] %}{% endfor %}ok"),
      "ok");
  EXPECT_EQ(
      render("{% set ns = namespace() %}{% set ns.a = ns %}{% macro f() %}{{ f }}{% endmacro %}"
             "{% for x in [1, 2] %}{% set ns.l = loop %}{% endfor %}{{ ns.l.index }}"),
      "2");
}

// What a value grows in is nobody else's: jinja2's answers.
TEST(Template, GrowsOnlyWhatNobodyElseHolds) {
  EXPECT_EQ(render("{% set a = [1] %}{% set b = a %}{% set a = a + [2] %}{{ b }}{{ a }}"
                   "{% set a = a + a %}{{ a }}{{ b }}"),
            "[1][1, 2][1, 2, 1, 2][1]");
  EXPECT_EQ(render("{% set ns = namespace(x=[1], s='a') %}{% set y = ns.x %}"
                   "{% set ns.x = ns.x + [2] %}{% set ns.x = ns.x + ns.x %}{{ y }}{{ ns.x }}"
                   "{% set ns.s = ns.s ~ ns.s ~ 'b' %}{% set ns.s = ns.s + ns.s %}{{ ns.s }}"),
            "[1][1, 2, 1, 2]aabaab");
  EXPECT_EQ(render("{% set ns = namespace(x=[1, 2]) %}{% for i in ns.x %}"
                   "{% set ns.x = ns.x + [i] %}{% endfor %}{{ ns.x }}"),
            "[1, 2, 1, 2]");
  EXPECT_EQ(
      render("{% set ns = namespace(x=[1]) %}{% macro f() %}{% set ns.x = [9] %}{% endmacro %}"
             "{% set ns.x = ns.x + [f()] %}{{ ns.x }}"),
      "[1, '']");
  EXPECT_EQ(render("{% set ns = namespace(x=[1]) %}{% set ns.x = ns.x + [ns.x] %}{{ ns.x }}"),
            "[1, [1]]");
  EXPECT_EQ(render("{% macro g(t) %}{% set t = t + [1] %}{% set t = t + [2] %}{{ t }}{% endmacro %}"
                   "{{ g(l) }}{{ g(l) }}{{ l }}",
                   R"({"l":[0]})"),
            "[0, 1, 2][0, 1, 2][0]");
  EXPECT_EQ(error_of("{% set ns = namespace(x=[1]) %}{% set ns.x = ns.x + 'a' %}"),
            "chat template, line 1: can only concatenate list (not \"str\") to list");
}

TEST(Template, GrowingTextsKeepTheirOrigins) {
  EXPECT_THAT(spans_of("{% set ns = namespace(s='<') %}{% for m in messages %}"
                       "{% set ns.s = ns.s + m.content %}{% set ns.s = ns.s ~ '|' ~ m.role %}"
                       "{% endfor %}{{ '(' + ns.s + ')' }}",
                       R"({"messages":[{"role":"a","content":"x"},{"role":"b","content":"y"}]})"),
              ::testing::ElementsAre("template: (<", "message 0 content: x", "template: |",
                                     "message 0 role: a", "message 1 content: y", "template: |",
                                     "message 1 role: b", "template: )"));
}

TEST(Template, ReadsTenMegabytes) {
  const std::string text(10'000'000, 'x');
  EXPECT_EQ(render(text), text);
  EXPECT_EQ(render("{#" + text + "#}y"), "y");
  EXPECT_EQ(render("{{ s | length }}", "{\"s\":\"" + text + "\"}"), "10000000");
}

TEST(Template, RendersOnSeveralThreads) {
  const Template parsed = Template::parse(
      "{% for m in messages %}{{ 'x' ~ m.content | upper }}{{ [1, 'a', 10 ** 30] }}{% endfor %}");
  const auto run = [&] {
    Variables variables;
    variables.set_all("{\"messages\":[{\"content\":\"a\"}]}");
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(parsed.render(variables).text, "xA[1, 'a', 1000000000000000000000000000000]");
    }
  };
  std::thread other(run);
  run();
  other.join();
}

}  // namespace
}  // namespace fathom::codec::jinja
