// What users of other servers suffered, tried on this one; over the tiny model, where the default
// model is not needed (default_model_test.cc). Each test names its case.
// Read next: api/openai/handler.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/api/openai/server_rig.h"

namespace fathom::api::openai {
namespace {

using test::Json;
using testing::HasSubstr;

constexpr const char* kChatPath = "/v1/chat/completions";
constexpr const char* kTextPath = "/v1/completions";

std::string greedy(const std::string& prompt, const std::string& more = "") {
  return R"({"temperature":0,"ignore_eos":true,"return_token_ids":true,"max_tokens":12,"prompt":)" +
         Json(prompt).dump() + more + "}";
}

std::string text_of_length(size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) {
    text += static_cast<char>('a' + (i * i + i / 7) % 26);
  }
  return text;
}

Json ids_of(const Json& answer) {
  return answer["choices"][0]["token_ids"];
}

int cached_of(const Json& answer) {
  return answer["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>();
}

// C21: a prompt that is the begin of a cached one is answered from its own end, not from the old
// one's: its last token is computed again.
TEST(Cases, APromptShorterThanTheCachedOneHasItsOwnAnswer) {
  test::Server cold({.prefix_cache = false});
  test::Server server;
  const std::string text = text_of_length(200);
  server.ask(kTextPath, greedy(text));
  for (const size_t length : {63, 64, 65, 127, 128, 129, 192, 199}) {
    const std::string prompt = text.substr(0, length);
    const Json answer = server.ask(kTextPath, greedy(prompt));
    EXPECT_EQ(ids_of(answer), ids_of(cold.ask(kTextPath, greedy(prompt)))) << length;
    EXPECT_EQ(cached_of(answer), (length - 1) / 64 * 64) << length;
  }
}

// C21: a conversation that goes on takes over what came before, and ends as one that was never
// seen.
TEST(Cases, ChatsReuseTheirHistory) {
  test::Server cold({.prefix_cache = false});
  test::Server server;
  Json body = {{"messages", {{{"role", "user"}, {"content", text_of_length(80)}}}},
               {"temperature", 0},
               {"max_tokens", 8},
               {"ignore_eos", true},
               {"return_token_ids", true}};
  const Json first = server.ask(kChatPath, body.dump());
  EXPECT_EQ(cached_of(first), 0);
  body["messages"].push_back({{"role", "assistant"}, {"content", "well"}});
  body["messages"].push_back({{"role", "user"}, {"content", "and?"}});
  const Json second = server.ask(kChatPath, body.dump());
  EXPECT_GE(cached_of(second), 64);
  EXPECT_EQ(ids_of(second), ids_of(cold.ask(kChatPath, body.dump())));
}

// C20: prompts that begin alike and others, while the pages of each have to give way to the next.
TEST(Cases, NobodyGetsAnothersPagesUnderEviction) {
  test::Server cold({.prefix_cache = false});
  test::Server server({.context = 192, .max_sequences = 2, .max_open = 64});
  const auto prompt = [](int i) { return text_of_length(70 + i % 2 * 60) + std::to_string(i % 5); };
  std::vector<Json> expected;
  for (int i = 0; i < 10; ++i) {
    expected.push_back(ids_of(cold.ask(kTextPath, greedy(prompt(i)))));
  }
  std::vector<std::shared_ptr<test::FakeResponder>> asked;
  for (int i = 0; i < 40; ++i) {
    asked.push_back(server.send(kTextPath, greedy(prompt(i))));
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(ids_of(Json::parse(asked[i]->wait().body)), expected[i % 10]) << i;
  }
}

// C24: one client leaves while another's prompt is being computed; only its own request ends.
TEST(Cases, ANeighbourThatLeavesDisturbsNobody) {
  const std::string prompt = text_of_length(200);
  test::Server alone;
  const Json expected = ids_of(alone.ask(kTextPath, greedy(prompt)));
  test::Server server({.context = 4096, .max_batched_tokens = 2, .prefix_cache = false});
  const auto leaver =
      server.send(kTextPath, R"({"prompt":"x","max_tokens":4000,"ignore_eos":true,"stream":true})");
  leaver->wait_for("data: ");
  const auto other = server.send(kTextPath, greedy(prompt));
  while (server.engine().stats().n_running < 2) {
    std::this_thread::yield();
  }
  leaver->leave();
  EXPECT_EQ(ids_of(Json::parse(other->wait().body)), expected);
  EXPECT_EQ(server.records().wait(2).size(), 2U);
  server.engine().stop();
  EXPECT_EQ(server.engine().stats().n_pages_used, 0);
}

// C14: the answer says that the context was shifted, and how often.
TEST(Cases, AShiftIsTold) {
  test::Server server({.context = 64});
  const std::string body =
      R"({"prompt":"abcdefgh","temperature":0,"max_tokens":150,"ignore_eos":true,)"
      R"("context_shift":true,"n_keep":4,"return_token_ids":true})";
  const Json whole = server.ask(kTextPath, body);
  EXPECT_EQ(whole["usage"]["completion_tokens"], 150);
  EXPECT_EQ(whole["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(whole["choices"][0]["context_shifts"], 4);  // after 57, 87, 117 and 147 tokens
  EXPECT_EQ(whole["truncated"], true);
  const auto events = server.stream(kTextPath, body);
  EXPECT_EQ(events.back()["choices"][0]["context_shifts"], 4);
  EXPECT_EQ(events.back()["truncated"], true);
  const Json none = server.ask(kTextPath, greedy("abcdefgh"));
  EXPECT_FALSE(none.contains("truncated"));
  EXPECT_FALSE(none["choices"][0].contains("context_shifts"));
  const Json refused =
      server.ask(kTextPath, greedy("abcdefgh", R"(,"context_shift":true,"n_keep":64)"), 400);
  EXPECT_THAT(refused["error"]["message"].get<std::string>(), HasSubstr("n_keep is 64"));
}

// C33: the chosen token is listed, also outside of the likeliest.
TEST(Cases, TheChosenTokenIsAlwaysListed) {
  test::Server server;
  const Json logprobs = server.ask(
      kTextPath,
      greedy("abc", R"(,"logprobs":1,"allowed_token_ids":[7,8])"))["choices"][0]["logprobs"];
  for (size_t i = 0; i < logprobs["tokens"].size(); ++i) {
    const Json& best = logprobs["top_logprobs"][i];
    const auto chosen = logprobs["tokens"][i].get<std::string>();
    ASSERT_TRUE(best.contains(chosen)) << best;
    EXPECT_EQ(best[chosen], logprobs["token_logprobs"][i]);
    EXPECT_LE(best.size(), 2U);
  }
}

// With a stop string set, text is held back only while it may become one: no flood of empty events.
TEST(Cases, StopsCauseNoEmptyEvents) {
  test::Server server;
  const std::string a = R"("logit_bias":{"65":100},"temperature":0,"max_tokens":20,"stream":true)";
  const auto events =
      server.stream(kTextPath, R"({"prompt":"x","stop":["ZZ","never this"],)" + a + "}");
  ASSERT_GE(events.size(), 2U);
  for (size_t i = 1; i + 1 < events.size(); ++i) {
    EXPECT_NE(events[i]["choices"][0]["text"], "") << i;
  }
  // While the begin of one stands at the end of the text, nothing can be told.
  const auto held = server.stream(kTextPath, R"({"prompt":"x","stop":["AAAAAAAAAAB"],)" + a + "}");
  std::string text;
  for (const Json& event : held) {
    text += event["choices"][0]["text"].get<std::string>();
  }
  EXPECT_EQ(text, std::string(20, 'A'));
}

// A second message of the system's is the template's to refuse; this one takes it.
TEST(Cases, ASecondSystemMessageIsNoFault) {
  test::Server server;
  const Json body = {{"messages",
                      {{{"role", "system"}, {"content", "one"}},
                       {{"role", "user"}, {"content", "a"}},
                       {{"role", "system"}, {"content", "two"}},
                       {{"role", "user"}, {"content", "b"}}}}};
  EXPECT_THAT(server.ask("/apply-template", body.dump())["prompt"].get<std::string>(),
              HasSubstr("<|im_start|>system\ntwo<|im_end|>"));
}

// C36: arguments of a tool call in the history that are no JSON are the client's fault, each time.
TEST(Cases, BrokenArgumentsInTheHistoryAre400) {
  test::Server server;
  const std::string body =
      R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":)"
      R"([{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\":"}}]},)"
      R"({"role":"tool","tool_call_id":"1","content":"r"}]})";
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(server.ask(kChatPath, body, 400)["error"]["message"].get<std::string>(),
                HasSubstr("arguments"));
  }
}

}  // namespace
}  // namespace fathom::api::openai
