// The load generator as a person calls it, on a server of fixed answers.
// Read next: apps/fathom/bench_serve.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/http/front.h"
#include "api/http/transport.h"
#include "src/api/http/certificate.h"
#include "support/program.h"
#include "support/temp_folder.h"

namespace fathom::app {
namespace {

using testing::HasSubstr;

class Model : public api::http::Handler {
 public:
  [[nodiscard]] std::span<const api::http::Route> routes() const override {
    static constexpr api::http::Route kRoutes[] = {{"POST", "/v1/completions"},
                                                   {"GET", "/v1/models"}};
    return kRoutes;
  }

  int n_answers = 1'000'000;  // later requests are left without one
  int n_answered = 0;
  std::vector<std::shared_ptr<api::http::Responder>> held;
  api::http::Response models{.body = R"({"data":[{"id":"the-model"}]})"};

  void handle(api::http::Request request,
              std::shared_ptr<api::http::Responder> responder) override {
    if (request.path == "/v1/models") {
      responder->reply(models);
      return;
    }
    if (n_answered >= n_answers) {
      held.push_back(std::move(responder));
      return;
    }
    ++n_answered;
    responder->begin_stream({});
    responder->send("data: {\"choices\":[{\"text\":\"x\"}]}\n\n");
    responder->send("data: {\"choices\":[{\"text\":\"y\"}]}\n\n");
    responder->send("data: [DONE]\n\n");
    responder->end_stream();
  }
};

test::ProgramResult bench_serve(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"bench", "serve"});
  return test::run_program(FATHOM_PROGRAM, {.arguments = std::move(arguments)});
}

TEST(BenchServeTest, MeasuresLevels) {
  api::http::Front front({});
  api::http::Transport transport({.port = 0}, front, nullptr);
  front.set_handler(std::make_shared<Model>());
  front.set_stage(api::http::Stage::kReady);
  transport.start();
  const test::TempFolder folder;
  const std::string url = "http://127.0.0.1:" + std::to_string(transport.port());
  const std::string page = folder.path_of("report.html");
  const test::ProgramResult result = bench_serve(
      {url, "--clients", "1,4", "--requests", "8", "--prompt-words", "2-4", "--html", page});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("clients"));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 3);
  EXPECT_THAT(test::read_text(page), HasSubstr("the-model"));

  const test::ProgramResult open =
      bench_serve({url, "--rate", "100", "--requests", "5", "--json", "--model-name", "m"});
  EXPECT_EQ(open.status, 0) << open.err;
  const auto json = nlohmann::json::parse(open.out);
  EXPECT_EQ(json["model"], "m");
  EXPECT_EQ(json["levels"][0]["good"], 5);
  EXPECT_EQ(json["levels"][0]["rate_per_s"], 100);

  front.set_stage(api::http::Stage::kDraining);
  const test::ProgramResult failed = bench_serve({url, "--requests", "2", "--model-name", "m"});
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.err, HasSubstr("2 requests failed; the first: status 503"));
}

TEST(BenchServeTest, SaysWhatIsWrongWithTheListOfModels) {
  api::http::Front front({});
  api::http::Transport transport({.port = 0}, front, nullptr);
  const auto model = std::make_shared<Model>();
  front.set_handler(model);
  front.set_stage(api::http::Stage::kReady);
  transport.start();
  const std::string url = "http://127.0.0.1:" + std::to_string(transport.port());
  const std::string html = "<html>\n<title>hello</title>";
  const std::vector<std::pair<api::http::Response, std::string>> answers = {
      {{.status = 401, .body = R"({"error":"who?"})"},
       "status 401: the server wants another API key; set OPENAI_API_KEY"},
      {{.status = 404, .body = html}, "expected status 200, found 404: <html> <title>hello"},
      {{.content_type = "text/html", .body = html}, "expected JSON, found: <html> <title>hello"},
      {{.body = ""}, "expected JSON, found: nothing"},
      {{.body = R"({"object":"list"})"}, R"(a list "data", found: {"object":"list"})"},
      {{.body = R"([1])"}, R"(a list "data", found: [1])"},
      {{.body = R"({"data":{"id":"m"}})"}, R"(a list "data", found: {"data":)"},
      {{.body = R"({"data":[]})"}, "the list of models is empty"},
      {{.body = R"({"data":["m"]})"}, R"(models with a text "id", found: {"data":["m"]})"},
      {{.body = R"({"data":[{"id":7}]})"}, R"(models with a text "id", found: {"data")"},
      {{.body = R"({"data":[{"id":""}]})"}, R"(models with a text "id", found: {"data")"}};
  for (const auto& [answer, why] : answers) {
    model->models = answer;
    const test::ProgramResult result = bench_serve({url, "--requests", "1"});
    EXPECT_EQ(result.status, 1) << why;
    EXPECT_THAT(result.err, HasSubstr("GET /v1/models: "));
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_THAT(result.err, HasSubstr("--model-name"));
  }
  EXPECT_EQ(bench_serve({url, "--requests", "1", "--model-name", "m"}).status, 0);
}

TEST(BenchServeTest, EndsOnAnInterrupt) {
  api::http::Front front({});
  api::http::Transport transport({.port = 0}, front, nullptr);
  const auto model = std::make_shared<Model>();
  model->n_answers = 2;
  front.set_handler(model);
  front.set_stage(api::http::Stage::kReady);
  transport.start();
  const test::TempFolder folder;
  const std::string page = folder.path_of("report.html");
  const test::ProgramResult result = test::run_program(
      FATHOM_PROGRAM,
      {.arguments = {"bench", "serve", "http://127.0.0.1:" + std::to_string(transport.port()),
                     "--clients", "1,2", "--requests", "2", "--html", page},
       .interrupt_after_ms = 100});
  EXPECT_EQ(result.status, 130);
  EXPECT_THAT(result.out, HasSubstr("clients"));  // what was measured before stays
  EXPECT_TRUE(folder.names().empty()) << "no half report";
  transport.stop();
}

TEST(BenchServeTest, SpeaksHttps) {
  const test::TempFolder folder;
  const test::Pem pem = test::make_pem(1);
  const std::string certificate = folder.write("crt", pem.certificate);
  api::http::Front front({});
  api::http::Transport transport(
      {.port = 0, .certificate_path = certificate, .key_path = folder.write("key", pem.key)}, front,
      nullptr);
  front.set_handler(std::make_shared<Model>());
  front.set_stage(api::http::Stage::kReady);
  transport.start();
  const std::string url = "https://localhost:" + std::to_string(transport.port());
  const test::ProgramResult trusted =
      bench_serve({url, "--requests", "2", "--json", "--ca-file", certificate});
  EXPECT_EQ(trusted.status, 0) << trusted.err;
  EXPECT_EQ(nlohmann::json::parse(trusted.out)["levels"][0]["good"], 2);
  EXPECT_EQ(bench_serve({url, "--requests", "2", "--insecure"}).status, 0);
  const test::ProgramResult strange = bench_serve({url, "--requests", "2"});
  EXPECT_EQ(strange.status, 1);
  EXPECT_THAT(strange.err, HasSubstr("not trusted"));
}

TEST(BenchServeTest, RefusesWrongUsage) {
  EXPECT_EQ(bench_serve({}).status, 2);
  EXPECT_EQ(bench_serve({"http://127.0.0.1:1", "--clients", "x"}).status, 2);
  EXPECT_EQ(bench_serve({"http://127.0.0.1:1", "--clients", "1", "--rate", "1"}).status, 2);
  EXPECT_EQ(bench_serve({"http://127.0.0.1:1", "--prompt-words", "9-3"}).status, 2);
  EXPECT_EQ(bench_serve({"ftp://host"}).status, 1);
  EXPECT_EQ(bench_serve({"https://127.0.0.1:1"}).status, 1);
  EXPECT_EQ(bench_serve({"http://127.0.0.1:1", "--insecure"}).status, 2);
  EXPECT_EQ(bench_serve({"https://127.0.0.1:1", "--insecure", "--ca-file", "x"}).status, 2);
  EXPECT_EQ(bench_serve({"http://127.0.0.1:1"}).status, 1);
}

}  // namespace
}  // namespace fathom::app
