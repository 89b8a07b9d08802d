// Bodies against the table: every kind of wrong value is refused by its field, null is the default.
// Read next: api/openai/body.h.
#include "api/openai/body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/openai/errors.h"

namespace fathom::api::openai {
namespace {

using testing::HasSubstr;

// Parses a body that must be refused; gives the error's param.
std::string refused(const std::string& text, std::string_view in_message, Route route = kChat) {
  try {
    Body::parse(text, route);
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr(std::string(in_message)));
    EXPECT_EQ(error.cause(), Cause::kBadRequest);
    return error.param();
  }
  ADD_FAILURE() << "taken: " << text;
  return "";
}

// A body with one member that is refused by its name, here and in the message.
void refuse_member(const std::string& name, const std::string& value, Route route = kChat) {
  const std::string text = "{\"" + name + "\":" + value + "}";
  EXPECT_EQ(refused(text, name, route), name) << text;
}

TEST(BodyTest, ValuesComeAsTheyAre) {
  const Body body = Body::parse(
      R"({"stream":true,"n":3,"temperature":0.5,"model":"m","stop":"x","stop_token_ids":[1,2],)"
      R"("logit_bias":{"7":-1.5},"user":"u","store":true,"top_p":null})",
      kCompletions);
  EXPECT_TRUE(body.flag("stream", false));
  EXPECT_EQ(body.integer("n", 1), 3);
  EXPECT_EQ(body.number("temperature", 1), 0.5);
  EXPECT_EQ(body.number("top_p", 0.25), 0.25);  // null
  EXPECT_FALSE(body.has("top_p"));
  EXPECT_EQ(body.text("model", ""), "m");
  EXPECT_EQ(body.texts("stop"), std::vector<std::string>{"x"});
  EXPECT_EQ(body.ids("stop_token_ids"), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(body.bias("logit_bias"), (std::vector<std::pair<int32_t, float>>{{7, -1.5F}}));
  EXPECT_EQ(body.ignored(), (std::vector<std::string>{"store", "user"}));
}

TEST(BodyTest, PromptsAreTextsOrIdsOrListsOfThem) {
  const auto prompts = [](const std::string& value) {
    return Body::parse("{\"prompt\":" + value + "}", kCompletions).prompts("prompt");
  };
  EXPECT_EQ(prompts("\"a\""), std::vector<Prompt>{"a"});
  EXPECT_EQ(prompts("[1,2]"), (std::vector<Prompt>{std::vector<int32_t>{1, 2}}));
  EXPECT_EQ(prompts("[\"a\",\"b\"]"), (std::vector<Prompt>{"a", "b"}));
  EXPECT_EQ(prompts("[[1],[2,3]]"),
            (std::vector<Prompt>{std::vector<int32_t>{1}, std::vector<int32_t>{2, 3}}));
  for (const char* bad : {"[]", "[-1]", "[1.5]", "[[1],[\"a\"]]", "{}", "[[]]", "[1,\"a\"]", "true",
                          "[\"a\",null]", "[3000000000]"}) {
    refuse_member("prompt", bad, kCompletions);
  }
}

TEST(BodyTest, WrongValuesAreRefusedByTheirField) {  // C29
  const std::pair<const char*, std::vector<const char*>> wrong[] = {
      {"n", {"0", "-1", "1000000000", "1.5", "\"2\"", "[1]"}},
      {"max_tokens", {"-5", "\"10\"", "0", "1e3", "99999999999999999999"}},
      {"top_logprobs", {"-1", "1000000000"}},
      {"logit_bias",
       {"{\"-1\":1}", "{\"450\":\"x\"}", "{\"a\":1}", "{\"1\":101}", "[[1]]", "[[1,2,3]]",
        "[[\"a\",1]]", "[[1,1],[1,2]]", "{\"1\":1,\"01\":2}", "7"}},
      {"temperature", {"1e999", "\"hot\"", "-1", "true"}},
      {"top_p", {"-0.1", "1.01"}},
      {"seed", {"1e30", "\"1\"", "18446744073709551615"}},
      {"messages",
       {"[]", "{}", "[{}]", "[{\"role\":\"user\"}]", "[{\"role\":\"user\",\"content\":null}]",
        "[{\"role\":\"king\",\"content\":\"a\"}]", "[{\"role\":\"user\",\"content\":7}]", "[7]",
        "[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]"}},
      {"stop", {"[\"\"]", "\"\"", "[7]", "{}"}},
      {"stop_token_ids", {"[-1]", "[\"a\"]", "7"}},
      {"allowed_token_ids", {"[]"}},
      {"stream", {"1", "\"true\""}},
      {"stream_options", {"[]"}},
      {"tools", {"{}"}},
      {"chat_template_kwargs", {"[]"}},
      {"cache_salt", {"\"\""}},
      {"n_keep", {"-2", "1.5", "\"4\""}},
      {"context_shift", {"1"}},
      {"repetition_penalty", {"0"}},
  };
  for (const auto& [name, values] : wrong) {
    for (const char* value : values) {
      refuse_member(name, value);
    }
  }
}

TEST(BodyTest, TooManyAndTooLongTextsAreRefused) {  // C29
  std::string many = "[\"x\"";
  for (int i = 0; i < 10000; ++i) {
    many += ",\"x\"";
  }
  refuse_member("stop", many + "]");
  refuse_member("stop", "\"" + std::string(1 << 20, 'x') + "\"");
  refuse_member("stop", "[\"" + std::string(kMaxTextBytes + 1, 'x') + "\"]");
  EXPECT_EQ(Body::parse("{\"stop\":\"" + std::string(kMaxTextBytes, 'x') + "\"}", kChat)
                .texts("stop")
                .size(),
            1U);
}

TEST(BodyTest, UnknownFieldsAreRefusedByName) {
  for (const char* name : {"id_slot", "n_discard", "temprature", "slot", "filename"}) {
    refuse_member(name, "1");
    refuse_member(name, "null");
  }
  refuse_member("echo", "true");  // of completions
  refuse_member("messages", "[]", kCompletions);
}

TEST(BodyTest, BrokenJsonIsRefused) {  // C29
  EXPECT_EQ(refused("", "not JSON"), "");
  EXPECT_EQ(refused("{\"n\":", "byte"), "n");
  EXPECT_EQ(refused("[]", "expected a JSON object"), "");
  EXPECT_EQ(refused("\"n\"", "expected a JSON object"), "");
  EXPECT_EQ(refused("{\"model\":\"\xff\"}", "UTF-8"), "model");
  EXPECT_EQ(refused("{} x", "not JSON"), "");
  EXPECT_EQ(refused("{\"n\":1,\"n\":1}", "twice"), "n");
  EXPECT_EQ(refused(R"({"metadata":{"a":{"b":1,"b":2}}})", "\"b\" stands twice"), "metadata");
  EXPECT_EQ(refused(std::string(100000, '['), "deeper than 200"), "");
  EXPECT_EQ(refused("{\"user\":" + std::string(100000, '['), "deeper than 200"), "");
  std::string wide = "{\"metadata\":{\"0\":0";
  for (int i = 1; i < 5000; ++i) {
    wide += ",\"" + std::to_string(i) + "\":0";
  }
  EXPECT_EQ(refused(wide + "}}", "more than 4096 keys"), "metadata");
}

TEST(BodyTest, FoundValuesAreShownShortAndWhole) {
  try {
    Body::parse("{\"n\":\"" + std::string(57, 'x') + "\xC3\xA9\xC3\xA9\"}", kChat);
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("xxx\xC3\xA9..., expected a whole number from 1 to 128"));
  }
}

TEST(BodyTest, RefusedFieldsSayWhy) {
  const auto why = [](const std::string& text) -> std::string {
    try {
      Body::parse(text, kChat);
    } catch (const RequestError& error) {
      EXPECT_EQ(error.cause(), Cause::kNotOffered);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(why(R"({"response_format":{"type":"json_object"}})"), HasSubstr("schema"));
  EXPECT_EQ(why(R"({"response_format":{"type":"text"},"tool_choice":"none"})"), "");
  EXPECT_THAT(why(R"({"tool_choice":"auto"})"), HasSubstr("tool_choice"));
  EXPECT_THAT(why(R"({"lora":[{"id":99,"scale":1}]})"), HasSubstr("adapter"));
  EXPECT_EQ(why(R"({"lora":null,"functions":null})"), "");
}

TEST(BodyTest, FlagsOfObjectsAreChecked) {
  const auto usage = [](const std::string& value) {
    return Body::parse("{\"stream_options\":" + value + "}", kChat)
        .flag_in("stream_options", "include_usage", {"include_usage", "other"});
  };
  EXPECT_TRUE(usage("{\"include_usage\":true,\"other\":false}"));
  EXPECT_FALSE(usage("{\"include_usage\":null}"));
  EXPECT_FALSE(usage("{}"));
  EXPECT_THROW(usage("{\"nosuch\":true}"), RequestError);
  EXPECT_THROW(usage("{\"include_usage\":1}"), RequestError);
}

}  // namespace
}  // namespace fathom::api::openai
