// The routes over a tiny random model whose answers logit_bias makes. Every field that is used is
// used here or in default_model_test.cc. Read next: api/openai/handler.h.
#include "api/openai/handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "src/api/openai/server_rig.h"

namespace fathom::api::openai {
namespace {

using test::Json;
using testing::HasSubstr;

constexpr const char* kChatPath = "/v1/chat/completions";
constexpr const char* kTextPath = "/v1/completions";

// Greedy, "AAAA...", with further members.
std::string always_a(const std::string& more) {
  return R"({"prompt":"xyz","temperature":0,"logit_bias":{"65":100},)" + more + "}";
}

std::string chat_a(const std::string& more) {
  return R"({"messages":[{"role":"user","content":"hi"}],"temperature":0,"logit_bias":[[65,100]],)" +
         more + "}";
}

class HandlerTest : public testing::Test {
 protected:
  test::Server server_;
};

TEST_F(HandlerTest, AChatIsAnswered) {
  const Json answer = server_.ask(kChatPath, chat_a("\"max_tokens\":4"));
  EXPECT_TRUE(answer["id"].get<std::string>().starts_with("chatcmpl-"));
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["model"], "tiny");
  EXPECT_EQ(answer["system_fingerprint"], "fp");
  ASSERT_EQ(answer["choices"].size(), 1U);
  const Json& choice = answer["choices"][0];
  EXPECT_EQ(choice["index"], 0);
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["message"]["content"], "AAAA");
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_TRUE(choice["logprobs"].is_null());
  // <|im_start|> "user\nhi" <|im_end|> "\n" <|im_start|> "assistant\n"
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 1 + 7 + 1 + 1 + 1 + 10);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 4);
  EXPECT_EQ(answer["usage"]["total_tokens"], 25);
  EXPECT_EQ(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
}

TEST_F(HandlerTest, AStreamHasTheFormOfOpenAis) {
  const auto events = server_.stream(
      kChatPath, chat_a(R"("max_tokens":3,"stream_options":{"include_usage":true})"));
  ASSERT_GE(events.size(), 4U);
  EXPECT_EQ(events[0]["choices"][0]["delta"], Json::parse(R"({"role":"assistant","content":""})"));
  std::string text;
  for (size_t i = 0; i + 2 < events.size(); ++i) {
    EXPECT_EQ(events[i]["object"], "chat.completion.chunk");
    EXPECT_EQ(events[i]["id"], events[0]["id"]);
    EXPECT_TRUE(events[i]["choices"][0].contains("finish_reason"));
    EXPECT_TRUE(events[i]["choices"][0]["finish_reason"].is_null());
    EXPECT_TRUE(events[i].contains("usage") && events[i]["usage"].is_null());
    text += events[i]["choices"][0]["delta"]["content"].get<std::string>();
  }
  EXPECT_EQ(text, "AAA");
  const Json& last = events[events.size() - 2];
  EXPECT_EQ(last["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(last["choices"][0]["delta"], Json::object());
  EXPECT_EQ(events.back()["choices"], Json::array());
  EXPECT_EQ(events.back()["usage"]["completion_tokens"], 3);
  const auto plain = server_.stream(kChatPath, chat_a("\"max_tokens\":1"));
  EXPECT_FALSE(plain.back().contains("usage"));
}

TEST_F(HandlerTest, ACompletionIsAnsweredWholeAndStreamed) {
  EXPECT_EQ(server_.text(always_a("\"max_tokens\":5")), "AAAAA");
  EXPECT_EQ(server_.text(always_a("\"max_tokens\":null")), std::string(16, 'A'));
  EXPECT_EQ(server_.ask(kTextPath, always_a("\"max_tokens\":1"))["object"], "text_completion");
}

TEST_F(HandlerTest, StopsEndTheAnswer) {
  const Json choice = server_.complete(always_a(R"("stop":["B","AAA"],"max_tokens":9)"));
  EXPECT_EQ(choice["text"], "");
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["stop_reason"], "AAA");
  EXPECT_EQ(server_.text(always_a(R"("stop":"AA","include_stop_str_in_output":true)")), "AA");
  EXPECT_EQ(server_.text(always_a(R"("stop":"A","min_tokens":3,"max_tokens":9)")), "AAA");
  const Json id = server_.complete(always_a(R"("stop_token_ids":[65],"max_tokens":9)"));
  EXPECT_EQ(id["text"], "");
  EXPECT_EQ(id["stop_reason"], 65);
  // The engine keeps such an end back as well.
  EXPECT_THAT(server_.text(always_a(R"("stop_token_ids":[65],"min_tokens":2,"max_tokens":9,)"
                                    R"("bad_words":["Z"])")),
              testing::Not(HasSubstr("A")));
}

TEST_F(HandlerTest, EndTokensEndAnAnswerUnlessIgnored) {
  const std::string ends = R"({"prompt":"xyz","temperature":0,"logit_bias":{"257":100},)";
  const Json choice = server_.complete(ends + R"("max_tokens":4})");
  EXPECT_EQ(choice["text"], "");
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_TRUE(choice["stop_reason"].is_null());
  const Json ignored = server_.ask(kTextPath, ends + R"("max_tokens":4,"ignore_eos":true})");
  EXPECT_EQ(ignored["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(ignored["usage"]["completion_tokens"], 4);
}

TEST_F(HandlerTest, SeveralPromptsAndChoicesComeInOrder) {
  const Json answer = server_.ask(
      kTextPath,
      R"({"prompt":[[1,2],[3]],"n":2,"temperature":1,"seed":5,"max_tokens":6,"return_token_ids":true,)"
      R"("ignore_eos":true})");
  ASSERT_EQ(answer["choices"].size(), 4U);
  std::set<std::string> texts;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(answer["choices"][i]["index"], i);
    EXPECT_EQ(answer["choices"][i]["token_ids"].size(), 6U);
    EXPECT_EQ(answer["choices"][i]["prompt_token_ids"],
              i < 2 ? Json::parse("[1,2]") : Json::parse("[3]"));
    texts.insert(answer["choices"][i]["token_ids"].dump());
  }
  EXPECT_EQ(texts.size(), 4U);  // each choice has draws of its own
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 24);
  const Json refused =
      server_.ask(kTextPath, R"({"prompt":["a","b"],"n":9})", 400);  // 18 of 16 places
  EXPECT_EQ(refused["error"]["param"], "n");
}

TEST_F(HandlerTest, AStreamOfSeveralChoicesTellsThemApart) {
  std::string texts[2];
  int n_roles = 0;
  int n_ends = 0;
  for (const Json& event : server_.stream(kChatPath, chat_a("\"n\":2,\"max_tokens\":3"))) {
    const Json& choice = event["choices"][0];
    const auto index = choice["index"].get<size_t>();
    ASSERT_LT(index, 2U);
    texts[index] += choice["delta"].value("content", "");
    n_roles += choice["delta"].contains("role") ? 1 : 0;
    n_ends += choice["finish_reason"].is_null() ? 0 : 1;
  }
  EXPECT_EQ(texts[0], "AAA");
  EXPECT_EQ(texts[1], "AAA");
  EXPECT_EQ(n_roles, 2);
  EXPECT_EQ(n_ends, 2);
}

TEST_F(HandlerTest, TheSeedIsToldAndRepeatsTheAnswer) {
  const std::string ask = R"({"prompt":"The","temperature":1.5,"max_tokens":12,"ignore_eos":true)";
  const auto run = [&](const std::string& more) {
    return server_.ask(kTextPath, ask + more + "}");
  };
  const Json first = run("");
  const Json second = run("");
  EXPECT_NE(first["seed"], second["seed"]);
  EXPECT_NE(first["choices"][0]["text"], second["choices"][0]["text"]);
  const Json again = run(",\"seed\":" + first["seed"].dump());
  EXPECT_EQ(again["choices"][0]["text"], first["choices"][0]["text"]);
  EXPECT_EQ(again["seed"], first["seed"]);
  EXPECT_EQ(run(",\"seed\":-7")["seed"], -7);
  EXPECT_EQ(server_.stream(kTextPath, ask + ",\"seed\":3}")[0]["seed"], 3);
}

TEST_F(HandlerTest, SamplingFieldsAreHeard) {  // C18, C46
  const auto text = [&](const std::string& more) {
    return server_.text(R"({"prompt":"q","seed":1,"max_tokens":8,"ignore_eos":true,)" + more + "}");
  };
  const std::string hot = text("\"temperature\":3");
  EXPECT_NE(hot, text("\"temperature\":2.5"));
  EXPECT_EQ(text("\"temperature\":3,\"top_k\":1"), text("\"temperature\":0"));
  EXPECT_EQ(text("\"temperature\":3,\"top_p\":0"), text("\"temperature\":0"));
  EXPECT_EQ(text("\"temperature\":3,\"min_p\":1"), text("\"temperature\":0"));
  const std::string a_or_b = R"("temperature":0,"logit_bias":{"65":100,"66":99.5},)";
  const std::string no_penalty = text(a_or_b + "\"presence_penalty\":0");
  EXPECT_NE(text(a_or_b + "\"presence_penalty\":2"), no_penalty);
  EXPECT_NE(text(a_or_b + "\"frequency_penalty\":2"), no_penalty);
  EXPECT_NE(text(a_or_b + "\"repetition_penalty\":2"), text(a_or_b + "\"repetition_penalty\":1"));
  EXPECT_EQ(text(R"("temperature":3,"allowed_token_ids":[67])"), "CCCCCCCC");
  const std::string words =
      text(R"("temperature":0,"logit_bias":{"65":100,"66":99},"bad_words":["AA"])");
  EXPECT_EQ(words.find("AA"), std::string::npos);
}

TEST_F(HandlerTest, LogprobsOfChats) {
  const Json answer =
      server_.ask(kChatPath, chat_a(R"("max_tokens":3,"logprobs":true,"top_logprobs":2)"));
  const Json& content = answer["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 3U);
  for (const Json& entry : content) {
    EXPECT_EQ(entry["token"], "A");
    EXPECT_EQ(entry["bytes"], Json::parse("[65]"));
    EXPECT_LT(entry["logprob"].get<double>(), 0);
    ASSERT_EQ(entry["top_logprobs"].size(), 2U);
    EXPECT_GE(entry["top_logprobs"][0]["logprob"], entry["top_logprobs"][1]["logprob"]);
  }
  Json streamed = Json::array();
  for (const Json& event :
       server_.stream(kChatPath, chat_a(R"("max_tokens":3,"logprobs":true,"top_logprobs":2)"))) {
    if (!event["choices"][0]["logprobs"].is_null()) {
      for (const Json& entry : event["choices"][0]["logprobs"]["content"]) {
        streamed.push_back(entry);
      }
    }
  }
  EXPECT_EQ(streamed, content);
  const Json chain = server_.ask(
      kChatPath,
      chat_a(R"("max_tokens":1,"logprobs":true,"top_logprobs":2,"post_sampling_logprobs":true)"));
  const Json& only = chain["choices"][0]["logprobs"]["content"][0];
  EXPECT_EQ(only["logprob"], 0.0);
  EXPECT_EQ(only["top_logprobs"].size(), 1U);
}

TEST_F(HandlerTest, CachedTokensAreCountedAndSaltsKeepApart) {
  const std::string prompt(100, 'p');
  const auto cached = [&](const std::string& more, std::string_view key) {
    const auto answer = server_.send(
        kTextPath, R"({"prompt":")" + prompt + R"(","max_tokens":1)" + more + "}", key);
    return Json::parse(answer->wait().body)["usage"]["prompt_tokens_details"]["cached_tokens"]
        .get<int>();
  };
  EXPECT_EQ(cached("", "alice"), 0);
  EXPECT_EQ(cached("", "alice"), 64);
  EXPECT_EQ(cached("", "bob"), 0);
  EXPECT_EQ(cached(R"(,"cache_salt":"alice")", "bob"), 0);  // a salt is no key
  EXPECT_EQ(cached(R"(,"cache_salt":"alice")", "carol"), 64);
}

TEST_F(HandlerTest, LongPromptsAreRefusedWithBothNumbersOrCutOnRequest) {  // C13
  const std::string prompt(300, 'w');
  const auto body = [&](const std::string& more) {
    return R"({"prompt":")" + prompt + R"(","max_tokens":2,"temperature":0)" + more + "}";
  };
  const Json error = server_.ask(kTextPath, body(""), 400)["error"];
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["param"], "prompt");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("300"));
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("256"));
  EXPECT_EQ(server_.text(always_a("\"max_tokens\":1")), "A");
  const Json cut = server_.ask(kTextPath, body(R"(,"truncate_prompt_tokens":50)"));
  EXPECT_EQ(cut["truncated"], true);
  EXPECT_EQ(cut["truncation"][0]["prompt_tokens"], 300);
  EXPECT_EQ(cut["truncation"][0]["kept_from"], 250);
  EXPECT_EQ(cut["truncation"][0]["kept_tokens"], 50);
  EXPECT_EQ(cut["usage"]["prompt_tokens"], 50);
  EXPECT_EQ(server_.stream(kTextPath, body(R"(,"truncate_prompt_tokens":50)"))[0]["truncated"],
            true);
  const Json whole = server_.ask(kTextPath, always_a(R"("truncate_prompt_tokens":50)"));
  EXPECT_FALSE(whole.contains("truncated"));
}

TEST_F(HandlerTest, IgnoredFieldsAreNamedInAHeader) {
  for (const char* stream : {"false", "true"}) {
    const http::Response response =
        server_
            .send(kTextPath, always_a(std::string(R"("max_tokens":1,"user":"u","store":true,)"
                                                  R"("metadata":{"a":"b"},"stream":)") +
                                      stream))
            ->wait();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(http::find_header(response.headers, "fathom-ignored"), "metadata, store, user");
  }
  EXPECT_TRUE(server_.send(kTextPath, always_a("\"max_tokens\":1"))->wait().headers.empty());
}

TEST_F(HandlerTest, ErrorsNameTheField) {
  const auto param = [&](const std::string& body, const char* path = kTextPath) {
    const Json error = server_.ask(path, body, 400)["error"];
    EXPECT_EQ(error.size(), 4U);
    EXPECT_EQ(error["type"], "invalid_request_error");
    return error["param"];
  };
  EXPECT_EQ(param(always_a("\"nosuch\":1")), "nosuch");
  EXPECT_EQ(param(R"({"prompt":[260]})"), "prompt");
  EXPECT_EQ(param(R"({"prompt":""})"), "prompt");
  EXPECT_EQ(param(R"({"prompt":"a","logit_bias":{"260":1}})"), "logit_bias");
  EXPECT_EQ(param(R"({"prompt":"a","stop_token_ids":[260]})"), "stop_token_ids");
  EXPECT_EQ(param(R"({"prompt":"a","allowed_token_ids":[260]})"), "allowed_token_ids");
  EXPECT_EQ(param(R"({"prompt":"a","suffix":"b"})"), "suffix");
  EXPECT_TRUE(param("{not json").is_null());
  EXPECT_EQ(param(R"({"messages":[]})", kChatPath), "messages");
  EXPECT_TRUE(param("{}", "/v1/embeddings").is_null());
  EXPECT_EQ(server_.ask(kTextPath, always_a("\"model\":\"gpt-9\""), 404)["error"]["code"],
            "model_not_found");
  EXPECT_EQ(server_.ask(kTextPath, always_a("\"model\":\"org/other\",\"max_tokens\":1"))["model"],
            "org/other");
}

TEST_F(HandlerTest, ModelsAreListed) {
  const Json list = server_.ask("/v1/models", "");
  EXPECT_EQ(list["object"], "list");
  ASSERT_EQ(list["data"].size(), 2U);
  EXPECT_EQ(list["data"][0]["id"], "tiny");
  EXPECT_EQ(list["data"][0]["max_model_len"], 256);
  EXPECT_EQ(server_.ask("/v1/models/tiny", "")["id"], "tiny");
  EXPECT_EQ(server_.ask("/v1/models/org%2Fother", "")["id"], "org/other");
  EXPECT_EQ(server_.ask("/v1/models/nosuch", "", 404)["error"]["code"], "model_not_found");
}

TEST_F(HandlerTest, TextsAndIdsAreTurnedIntoEachOther) {
  const Json ids =
      server_.ask("/tokenize", R"({"content":"a<|im_end|>","return_token_strs":true})");
  EXPECT_EQ(ids["tokens"], Json::parse("[97,257]"));
  EXPECT_EQ(ids["count"], 2);
  EXPECT_EQ(ids["max_model_len"], 256);
  EXPECT_EQ(ids["token_strs"], Json::parse(R"(["a","<|im_end|>"])"));
  EXPECT_EQ(server_.ask("/tokenize", R"({"prompt":"<|im_end|>","parse_special":false})")["count"],
            10);
  EXPECT_EQ(server_.ask("/tokenize", R"({"prompt":"","add_special":false})")["tokens"],
            Json::array());
  EXPECT_EQ(server_.ask("/tokenize", R"({"messages":[{"role":"user","content":"hi"}]})")["count"],
            21);
  server_.ask("/tokenize", R"({"prompt":"a","content":"a"})", 400);
  server_.ask("/tokenize", "{}", 400);
  EXPECT_EQ(server_.ask("/detokenize", R"({"tokens":[97,257]})")["content"], "a<|im_end|>");
  EXPECT_EQ(
      server_.ask("/detokenize", R"({"tokens":[97,257],"skip_special_tokens":true})")["prompt"],
      "a");
  server_.ask("/detokenize", "{}", 400);
  server_.ask("/detokenize", R"({"tokens":[999]})", 400);
}

TEST_F(HandlerTest, TemplatesAreApplied) {
  const std::string talk =
      R"({"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yo"}])";
  EXPECT_EQ(server_.ask("/apply-template", talk + "}")["prompt"],
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nyo<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(server_.ask("/apply-template", talk + R"(,"add_generation_prompt":false})")["prompt"],
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nyo<|im_end|>\n");
  EXPECT_EQ(server_.ask("/apply-template", talk + R"(,"continue_final_message":true})")["prompt"],
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nyo");
  EXPECT_EQ(
      server_.ask(
          "/apply-template",
          R"({"messages":[{"role":"developer","content":[{"type":"text","text":"be kind"}]}]})")
          ["prompt"],
      "<|im_start|>system\nbe kind<|im_end|>\n<|im_start|>assistant\n");
}

TEST(HandlerLimits, ClientsThatLeaveFreeTheirPages) {  // C23
  test::Server server({.context = 4096});
  const auto one = server.send(kTextPath, always_a(R"("max_tokens":4000,"stream":true)"));
  one->wait_for("A");
  one->leave();
  const auto whole = server.send(kTextPath, always_a(R"("max_tokens":4000)"));
  whole->leave();
  const auto records = server.records().wait(2);
  EXPECT_EQ(records[0].finish_reason, "cancelled");
  EXPECT_EQ(records[0].status, 499);
  EXPECT_EQ(records[1].status, 499);
  EXPECT_FALSE(whole->is_whole());
  server.engine().stop();
  EXPECT_EQ(server.engine().stats().n_pages_used, 0);
}

TEST_F(HandlerTest, RecordsSayWhatHappened) {
  server_.send(kTextPath, always_a("\"max_tokens\":4,\"stream\":true"), "alice")->wait();
  const auto records = server_.records().wait(1);
  ASSERT_EQ(records.size(), 1U);
  const http::RequestRecord& record = records[0];
  EXPECT_EQ(record.id, "r1");
  EXPECT_EQ(record.key, "alice");
  EXPECT_EQ(record.route, kTextPath);
  EXPECT_EQ(record.status, 200);
  EXPECT_TRUE(record.is_stream);
  EXPECT_EQ(record.prompt_tokens, 3);
  EXPECT_EQ(record.generated_tokens, 4);
  EXPECT_EQ(record.inter_tokens_s.size(), 3U);
  EXPECT_GE(record.queue_s, 0);
  EXPECT_GT(record.first_token_s, 0);
  EXPECT_GE(record.total_s, record.first_token_s);
  EXPECT_EQ(record.finish_reason, "length");
  server_.ask(kTextPath, "{}", 400);
  EXPECT_EQ(server_.records().wait(2)[1].status, 400);
}

TEST(HandlerLimits, AFullQueueAnswers429) {
  test::Server server({.context = 4096, .max_open = 1});
  const auto running = server.send(kTextPath, always_a(R"("max_tokens":4000,"stream":true)"));
  running->wait_for("A");
  const http::Response response = server.send(kTextPath, always_a("\"max_tokens\":1"))->wait();
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(http::find_header(response.headers, "retry-after"), "1");
  EXPECT_EQ(Json::parse(response.body)["error"]["code"], "queue_full");
  running->leave();
  server.records().wait(2);
  while (server.engine().n_open() > 0) {
    std::this_thread::yield();
  }
  server.ask(kTextPath, always_a("\"max_tokens\":1"));
}

TEST(HandlerLimits, AFullQueueIsToldBeforeTheBodyIsRead) {
  test::Server server({.context = 4096, .max_open = 1});
  EXPECT_FALSE(server.refuse_early(kTextPath));
  const auto running = server.send(kTextPath, always_a(R"("max_tokens":4000,"stream":true)"));
  running->wait_for("A");
  const std::optional<http::Response> refused = server.refuse_early(kTextPath);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(http::find_header(refused->headers, "retry-after"), "1");
  EXPECT_EQ(Json::parse(refused->body)["error"]["code"], "queue_full");
  EXPECT_TRUE(server.refuse_early("/v1/chat/completions"));
  EXPECT_FALSE(server.refuse_early("/tokenize"));  // needs no place
  running->leave();
  server.records().wait(1);
  while (server.engine().n_open() > 0) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(server.refuse_early(kTextPath));
}

TEST(HandlerLimits, StoppingTellsWhoIsLeft) {
  test::Server server({.context = 4096});
  const auto whole = server.send(kTextPath, always_a(R"("max_tokens":4000)"));
  const auto stream = server.send(kTextPath, always_a(R"("max_tokens":4000,"stream":true)"));
  stream->wait_for("A");
  server.engine().stop();
  EXPECT_EQ(whole->wait().status, 503);
  EXPECT_THAT(stream->wait().body, HasSubstr("\"stopping\""));
}

TEST_F(HandlerTest, LogprobsOfCompletionsWithEcho) {
  const std::string ask = always_a(R"("max_tokens":2,"logprobs":3,"echo":true)");
  const Json answer = server_.ask(kTextPath, ask);
  const Json& choice = answer["choices"][0];
  EXPECT_EQ(choice["text"], "xyzAA");
  const Json& lists = choice["logprobs"];
  EXPECT_EQ(lists["tokens"], Json::parse(R"(["x","y","z","A","A"])"));
  EXPECT_EQ(lists["text_offset"], Json::parse("[0,1,2,3,4]"));
  EXPECT_EQ(lists["bytes"], Json::parse("[[120],[121],[122],[65],[65]]"));
  EXPECT_TRUE(lists["token_logprobs"][0].is_null());
  EXPECT_LT(lists["token_logprobs"][1].get<double>(), 0);
  EXPECT_GE(lists["top_logprobs"][4].size(), 3U);
  EXPECT_LE(lists["top_logprobs"][4].size(), 4U);  // the likeliest, and the chosen one
  EXPECT_EQ(lists["top_logprobs"][4]["A"], lists["token_logprobs"][4]);
  const auto events = server_.stream(kTextPath, ask);
  EXPECT_EQ(events[0]["choices"][0]["text"], "xyz");
  EXPECT_EQ(events[0]["choices"][0]["logprobs"]["tokens"], Json::parse(R"(["x","y","z"])"));
  EXPECT_EQ(events[1]["choices"][0]["logprobs"]["text_offset"][0], 3);
  const Json look = server_.ask(kTextPath, always_a(R"("max_tokens":0,"logprobs":0,"echo":true)"));
  EXPECT_EQ(look["choices"][0]["text"], "xyz");
  EXPECT_EQ(look["usage"]["completion_tokens"], 0);
  EXPECT_EQ(look["choices"][0]["logprobs"]["tokens"].size(), 3U);
}

TEST_F(HandlerTest, LogprobsOfPrompts) {
  const Json answer = server_.ask(
      kTextPath, always_a(R"("max_tokens":1,"prompt_logprobs":1,"return_token_ids":true)"));
  const Json& choice = answer["choices"][0];
  ASSERT_EQ(choice["prompt_logprobs"].size(), 3U);
  EXPECT_TRUE(choice["prompt_logprobs"][0].is_null());
  EXPECT_EQ(choice["prompt_logprobs"][1]["token"], "y");
  EXPECT_EQ(choice["prompt_logprobs"][1]["top_logprobs"].size(), 1U);
  EXPECT_EQ(choice["prompt_token_ids"], Json::parse("[120,121,122]"));
  const Json chat = server_.ask(kChatPath, chat_a(R"("max_tokens":1,"prompt_logprobs":0)"));
  EXPECT_EQ(chat["prompt_logprobs"].size(), chat["usage"]["prompt_tokens"].get<size_t>());
}

TEST(HandlerLimits, ADeadlineIsTold) {
  test::Server server({.context = 4096});
  const std::string late = R"("max_tokens":4000,"deadline_seconds":0.000001)";
  EXPECT_EQ(server.ask(kTextPath, always_a(late), 504)["error"]["code"], "deadline_exceeded");
  const http::Response streamed =
      server.send(kTextPath, always_a(late + ",\"stream\":true"))->wait();
  EXPECT_THAT(streamed.body, HasSubstr("deadline_exceeded"));
  EXPECT_THAT(streamed.body, testing::Not(HasSubstr("[DONE]")));
  EXPECT_EQ(server.records().wait(2)[1].finish_reason, "deadline");
}

TEST(HandlerLimits, AQueueTimeoutIsTold) {
  test::Server server({.context = 4096, .max_sequences = 1});
  const auto running = server.send(kTextPath, always_a(R"("max_tokens":4000,"stream":true)"));
  running->wait_for("A");
  EXPECT_EQ(
      server.ask(kTextPath, always_a(R"("queue_timeout_seconds":0.000001)"), 503)["error"]["code"],
      "queue_timeout");
  running->leave();
}

TEST(HandlerLimits, PriorityGoesFirst) {
  test::Server server({.context = 4096, .max_sequences = 1});
  const auto running = server.send(kTextPath, always_a(R"("max_tokens":4000,"stream":true)"));
  running->wait_for("A");
  const auto later =
      server.send(kTextPath, always_a(R"("max_tokens":1,"priority":5)"), "", "later");
  const auto sooner =
      server.send(kTextPath, always_a(R"("max_tokens":1,"priority":-5)"), "", "sooner");
  while (server.engine().n_open() < 3) {
    std::this_thread::yield();
  }
  running->leave();
  later->wait();
  sooner->wait();
  const auto records = server.records().wait(3);  // in the order of their ends
  EXPECT_EQ(records[1].id, "sooner");
  EXPECT_EQ(records[2].id, "later");
}

TEST(HandlerLimits, AClientThatLeavesTheQueueIsNeverComputed) {  // C23
  test::Server server({.context = 4096, .max_sequences = 1});
  const auto running = server.send(kTextPath, always_a(R"("max_tokens":4000,"stream":true)"));
  running->wait_for("A");
  const auto queued = server.send(kTextPath, always_a(R"("max_tokens":4000)"));
  while (server.engine().n_open() < 2) {
    std::this_thread::yield();
  }
  queued->leave();
  EXPECT_EQ(server.records().wait(1)[0].status, 499);
  running->leave();
  server.records().wait(2);
  server.engine().stop();
  EXPECT_EQ(server.engine().stats().n_prompt_rows, 3);  // of the first alone
}

TEST(HandlerTemplates, TheTokenizersBeginCanBeLeftAway) {
  const test::TempFolder folder;
  test::GgufBuilder builder = test::tiny_chat_gguf();
  builder.set("tokenizer.ggml.add_bos_token", true);
  test::Server server({.model_path = builder.write(folder.path_of("bos.gguf"))});
  const std::string ask =
      always_a(R"("max_tokens":1,"return_token_ids":true,"echo":true,"logprobs":0)");
  const Json with = server.ask(kTextPath, ask)["choices"][0];
  EXPECT_EQ(with["prompt_token_ids"], Json::parse("[256,120,121,122]"));
  EXPECT_EQ(with["text"], "xyzA");
  EXPECT_EQ(with["logprobs"]["tokens"][0], "<|im_start|>");
  EXPECT_EQ(with["logprobs"]["text_offset"], Json::parse("[0,0,1,2,3]"));
  Json bare = Json::parse(ask);
  bare["add_special_tokens"] = false;
  EXPECT_EQ(server.ask(kTextPath, bare.dump())["choices"][0]["prompt_token_ids"],
            Json::parse("[120,121,122]"));
  EXPECT_EQ(server.ask("/tokenize", R"({"prompt":"x"})")["count"], 2);
  EXPECT_EQ(server.ask("/tokenize", R"({"prompt":"x","add_special_tokens":false})")["count"], 1);
}

TEST(HandlerTemplates, ARefusalOfTheTemplateIsTheClients) {  // C11
  test::Server server(
      {.chat_template =
           "{% for m in messages %}{% if (loop.index0 % 2 == 0) != (m.role == 'user') %}"
           "{{ raise_exception('roles must alternate') }}{% endif %}[{{ m.role }}]{{ m.content }}"
           "{% endfor %}"});
  const auto body = [](const char* second) {
    return std::string(R"({"messages":[{"role":"user","content":"a"},{"role":")") + second +
           R"(","content":"b"},{"role":"user","content":"c"}]})";
  };
  const Json error = server.ask(kChatPath, body("user"), 400)["error"];
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("roles must alternate"));
  EXPECT_EQ(server.ask("/apply-template", body("assistant"))["prompt"],
            "[user]a[assistant]b[user]c");
}

TEST(HandlerTemplates, ToolsDocumentsAndVariablesReachTheTemplate) {
  test::Server server({.chat_template = "{{ tools | length }} {{ documents[0].text }} {{ mood }} "
                                        "{% for m in messages %}{% for c in m.tool_calls %}"
                                        "{{ c.function.arguments.x }}{% endfor %}{% endfor %}"});
  const std::string body =
      R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":)"
      R"([{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\":7}"}}]},)"
      R"({"role":"tool","tool_call_id":"1","content":"ok"}],"tools":[{"type":"function"}],)"
      R"("tool_choice":"none","documents":[{"text":"doc"}],"chat_template_kwargs":{"mood":"calm"}})";
  EXPECT_EQ(server.ask("/apply-template", body)["prompt"], "1 doc calm 7");
  std::string broken = body;
  broken.replace(broken.find("7}\""), 2, "7");
  const Json error = server.ask("/apply-template", broken, 400)["error"];
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("tool_calls[0].function.arguments"));
}

}  // namespace
}  // namespace fathom::api::openai
