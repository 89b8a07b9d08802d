// What users of other servers suffered, tried on this one; over the tiny model, where the default
// model is not needed (default_model_test.cc). Each test names its case.
// Read next: api/openai/handler.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/metrics.h"
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

// C12: whatever template and tokenizer say, a prompt begins with one BOS where either wants one.
TEST(Cases, APromptHasOneBos) {
  const test::TempFolder folder;
  const std::string body =
      R"({"messages":[{"role":"user","content":"x"}],"max_tokens":1,"return_token_ids":true})";
  for (const bool adds : {false, true}) {
    test::GgufBuilder builder = test::tiny_chat_gguf();
    builder.set("tokenizer.ggml.add_bos_token", adds);
    const std::string model = builder.write(folder.path_of("bos.gguf"));
    for (const std::string begin : {"{{ bos_token }}", "{{ bos_token }}{{ bos_token }}", ""}) {
      test::Server server(
          {.model_path = model, .chat_template = begin + "{{ messages[0].content }}"});
      const Json with = begin.empty() && !adds ? Json::parse("[120]") : Json::parse("[256,120]");
      EXPECT_EQ(server.ask(kChatPath, body)["prompt_token_ids"], with) << adds << begin;
      EXPECT_EQ(
          server.ask("/tokenize", R"({"messages":[{"role":"user","content":"x"}]})")["tokens"],
          with)
          << adds << begin;
    }
  }
}

// C38: /metrics has histograms of real times, and counters that only grow, however often it is
// read.
TEST(Cases, MetricsHaveRealTimes) {
  test::Server server({.max_batched_tokens = 8});
  const auto start = std::chrono::steady_clock::now();
  server.ask(kTextPath, greedy(text_of_length(200)));
  const double waited =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const http::RequestRecord record = server.records().wait(1)[0];
  EXPECT_GT(record.first_token_s, 0);
  EXPECT_EQ(record.inter_tokens_s.size(), 11U);  // of 12 tokens
  double sum = record.first_token_s;
  for (const float gap : record.inter_tokens_s) {
    EXPECT_GE(gap, 0);
    sum += static_cast<double>(gap);
  }
  EXPECT_LE(sum, record.total_s + 1e-3);
  EXPECT_LE(record.total_s, waited);
  Metrics metrics("1");
  metrics.record(record);
  const std::string first = metrics.text();
  EXPECT_THAT(first, HasSubstr("fathom_time_to_first_token_seconds_count 1\n"));
  EXPECT_THAT(first, HasSubstr("fathom_inter_token_seconds_count 11\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("fathom_inter_token_seconds_count 11\n"));
  metrics.record(record);
  EXPECT_THAT(metrics.text(), HasSubstr("fathom_inter_token_seconds_count 22\n"));
}

}  // namespace
}  // namespace fathom::api::openai
