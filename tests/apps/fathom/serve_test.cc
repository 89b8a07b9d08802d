// The server as its operator has it: flags, environment, settings file, signals, its log.
// Read next: apps/fathom/serve.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/fathom/server_program.h"
#include "src/api/http/raw_client.h"
#include "support/program.h"

namespace fathom::app {
namespace {

using test::get;
using test::post;
using test::RawClient;
using test::refused;
using test::ServerProgram;
using Files = test::ModelFolder;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(ServeTest, AnswersAndEndsOnASignal) {
  const Files files;
  ServerProgram server(files.arguments({"--served-model-name", "tiny, other"}));
  server.wait_until_ready();
  RawClient client(server.port());
  EXPECT_THAT(client.ask(get("/ready")), StartsWith("HTTP/1.1 200"));
  const std::string models = client.ask(get("/v1/models"));
  EXPECT_THAT(models, HasSubstr("\"tiny\""));
  EXPECT_THAT(models, HasSubstr("\"other\""));
  EXPECT_THAT(models, Not(HasSubstr(files.folder.path())));
  const std::string answer = client.ask(
      post("/v1/completions", R"({"prompt":"a secret","max_tokens":3})", "X-Request-Id: my-1\r\n"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("X-Request-Id: my-1"));
  const std::string line = server.log_until("per_token=");
  EXPECT_THAT(line, HasSubstr("my-1 /v1/completions 200"));
  EXPECT_THAT(line, HasSubstr("out=3"));
  EXPECT_THAT(line, Not(HasSubstr("secret")));
  EXPECT_THAT(client.ask(get("/metrics")), HasSubstr("fathom_generated_tokens_total 3\n"));
  client.close();
  server.send_signal(SIGTERM);
  std::string rest;
  EXPECT_EQ(server.wait_for_end(&rest), 0);
  EXPECT_THAT(rest, HasSubstr("stopped"));
}

TEST(ServeTest, ASecondSignalEndsAtOnce) {
  const Files files;
  ServerProgram server(files.arguments());
  server.wait_until_ready();
  RawClient client(server.port());
  client.send(post("/v1/completions",
                   R"({"prompt":"a","max_tokens":500,"ignore_eos":true,"stream":true})"));
  client.read_until("data: ");
  server.send_signal(SIGTERM);
  server.log_until("going down");
  server.send_signal(SIGTERM);
  const int status = server.wait_for_end();
  EXPECT_TRUE(status == 130 || status == 0) << status;  // 0: the answer was done by then
}

TEST(ServeTest, ReadsKeysAgainOnHangup) {
  const Files files;
  const std::string keys = files.folder.write("keys", "alice sk-1\n");
  ServerProgram server(files.arguments({"--api-key-file", keys, "--log-format", "json"}));
  server.wait_until_ready();
  RawClient client(server.port());
  EXPECT_THAT(client.ask(get("/v1/models", "Authorization: Bearer sk-2\r\n")),
              StartsWith("HTTP/1.1 401"));
  const std::string log = server.log_until("\"total_s\":0.000000}\n");
  const auto line = nlohmann::json::parse(log.substr(log.rfind('\n', log.size() - 2) + 1));
  EXPECT_EQ(line["status"], 401);
  files.folder.write("keys", "bob sk-2\n");
  server.send_signal(SIGHUP);
  server.log_until("read again: 1 API keys");
  EXPECT_THAT(client.ask(get("/v1/models", "Authorization: Bearer sk-2\r\n")),
              StartsWith("HTTP/1.1 200"));
}

TEST(ServeTest, TakesSettingsFromFileAndEnvironment) {
  const Files files;
  const std::string config = files.folder.write(
      "serve.toml", "model = \"" + files.model +
                        "\"\nport = 1\ncontext = 256\nno-prefix-cache = true\n[serve]\n"
                        "threads = 1\nserved-model-name = \"from-file\"\n");
  ServerProgram server({"--config", config, "--served-model-name", "from-line"},
                       {"FATHOM_PORT=0", "FATHOM_SERVED_MODEL_NAME=from-environment"});
  server.wait_until_ready();
  RawClient client(server.port());
  const std::string models = client.ask(get("/v1/models"));
  EXPECT_THAT(models, HasSubstr("from-line"));
  EXPECT_THAT(models, HasSubstr("256"));
}

TEST(ServeTest, RefusesSettingsThatAreNone) {
  const Files files;
  const std::string config = files.folder.write("serve.toml", "prot = 1\n");
  const test::ProgramResult misspelled = refused(files.arguments({"--config", config}));
  EXPECT_EQ(misspelled.status, 2);
  EXPECT_THAT(misspelled.err, HasSubstr("serve.toml: 'prot' is no setting of serve"));
  const std::string other = files.folder.write("other.toml", "[run]\nport = 1\n");
  EXPECT_EQ(refused(files.arguments({"--config", other})).status, 2);
  EXPECT_EQ(refused(files.arguments({"--config", files.folder.path_of("none")})).status, 2);
  EXPECT_EQ(refused(files.arguments(), {"FATHOM_MAX_SEQUENCES=many"}).status, 2);
  const test::ProgramResult folder = refused(files.arguments({"--config", files.folder.path()}));
  EXPECT_EQ(folder.status, 2);
  EXPECT_THAT(folder.err, HasSubstr("is a folder, expected a regular file"));
}

// None of these may be waited for; /dev/stdin is a pipe here.
TEST(ServeTest, RefusesFilesThatAreNone) {
  const Files files;
  const std::string fifo = files.folder.path_of("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string regular = files.folder.write("some", "text");
  const std::vector<std::vector<std::string>> lines = {{"--api-key-file", fifo},
                                                       {"--tls-cert", fifo, "--tls-key", regular},
                                                       {"--chat-template", fifo},
                                                       {"--model", fifo}};
  for (const std::vector<std::string>& line : lines) {
    const test::ProgramResult result = refused(files.arguments(line));
    EXPECT_EQ(result.status, 1) << line[0];
    EXPECT_THAT(result.err, HasSubstr("is a FIFO, expected a regular file")) << line[0];
  }
  const test::ProgramResult config = refused(files.arguments({"--config", fifo}));
  EXPECT_EQ(config.status, 2);
  EXPECT_THAT(config.err, HasSubstr("--config " + fifo + ": is a FIFO, expected a regular file"));
  const test::ProgramResult keys = refused(files.arguments({"--api-key-file", "/dev/stdin"}));
  EXPECT_EQ(keys.status, 1);
  EXPECT_THAT(keys.err, HasSubstr("expected a regular file"));
}

TEST(ServeTest, RefusesTextsThatMeanNothing) {
  const Files files;
  const std::vector<std::pair<std::vector<std::string>, std::string>> lines = {
      {{"--host", ""}, "the host is empty"},
      {{"--served-model-name", ""}, "found no name"},
      {{"--served-model-name", " , "}, "found no name"},
      {{"--served-model-name", std::string(257, 'a')}, "a request can give 256 at most"},
      {{"--cors-origins", ""}, "found no origin"},
      {{"--cors-origins", "page.example"}, "'page.example' is no origin of a page"},
      {{"--cors-origins", "*, http://page/"}, "'http://page/' is no origin of a page"}};
  for (const auto& [line, why] : lines) {
    const test::ProgramResult result = refused(files.arguments(line));
    EXPECT_EQ(result.status, 2) << line[0];
    EXPECT_THAT(result.err, HasSubstr(line[0] + ": "));
    EXPECT_THAT(result.err, HasSubstr(why));
  }
}

// One that runs and one that waits for it, though the queue of the engine has room.
TEST(ServeTest, LimitsWhatWaitsForAKey) {
  const Files files;
  const std::string keys = files.folder.write("keys", "alice sk-1\n");
  ServerProgram server(
      files.arguments({"--api-key-file", keys, "--max-running-per-key", "1", "--max-queued", "2"}));
  server.wait_until_ready();
  const auto request = [](const char* more) {
    return post("/v1/completions",
                std::string(R"({"prompt":"a","max_tokens":100000,"context_shift":true,)") +
                    R"("ignore_eos":true,"stream":true)" + more + "}",
                "Authorization: Bearer sk-1\r\n");
  };
  RawClient running(server.port());
  running.send(request(""));
  running.read_until("data: ");
  RawClient second(server.port());
  RawClient third(server.port());
  for (RawClient* waiting : {&second, &third}) {
    waiting->send(request(""));
    waiting->read_until("\r\n\r\n");  // the head of a stream that waits
  }
  RawClient fourth(server.port());
  const std::string refusal = fourth.ask(request(""));
  EXPECT_THAT(refusal, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(refusal, HasSubstr("or too many of all keys wait"));
  EXPECT_THAT(fourth.ask(get("/metrics", "Authorization: Bearer sk-1\r\n")),
              HasSubstr("fathom_responses_total{route=\"/v1/completions\",status=\"429\"} 1\n"));
}

TEST(ServeTest, RefusesSettingsWithTwoValues) {
  const Files files;
  for (const char* text : {"threads = 1\nthreads = 2\n", "threads = 1\ncontext = 8\nthreads = 2\n",
                           "threads = [1, 2]\n", "threads = 1\n[serve]\nthreads = 1\n"}) {
    const std::string config = files.folder.write("twice.toml", text);
    const test::ProgramResult result = refused(files.arguments({"--config", config}));
    EXPECT_EQ(result.status, 2) << text;
    EXPECT_THAT(result.err, HasSubstr("twice.toml: 'threads' has more than one value")) << text;
  }
}

TEST(ServeTest, RefusesMisspelledVariables) {
  const Files files;
  const test::ProgramResult slip = refused(files.arguments(), {"FATHOM_MAX_SEQENCES=4"});
  EXPECT_EQ(slip.status, 2);
  EXPECT_THAT(slip.err, HasSubstr("FATHOM_MAX_SEQENCES, which is no setting; the nearest one is "
                                  "FATHOM_MAX_SEQUENCES;"));
  // What is missing may be what was misspelled.
  const test::ProgramResult model = refused({}, {"FATHOM_MODLE=" + files.model});
  EXPECT_EQ(model.status, 2);
  EXPECT_THAT(model.err, HasSubstr("FATHOM_MODEL;"));
}

TEST(ServeTest, RefusesWhatCannotBe) {
  const Files files;
  EXPECT_EQ(refused({}).status, 2);
  EXPECT_EQ(refused(files.arguments({"--port", "70000"})).status, 2);
  EXPECT_EQ(refused(files.arguments({"--idle-seconds", "-1"})).status, 2);
  EXPECT_EQ(refused(files.arguments({"--idle-seconds", "nan"})).status, 2);
  EXPECT_EQ(refused(files.arguments({"--comment-seconds", "-NaN"})).status, 2);
  EXPECT_EQ(refused(files.arguments({"--max-head-bytes", "65537"})).status, 2);
  EXPECT_EQ(refused(files.arguments({"--log-format", "xml"})).status, 2);
  EXPECT_EQ(refused(files.arguments({"--tls-key", "k"})).status, 2);
  EXPECT_EQ(refused(files.arguments({"--tls-cert", "c"})).status, 2);
  const test::ProgramResult open = refused(files.arguments({"--host", "0.0.0.0"}));
  EXPECT_EQ(open.status, 1);
  EXPECT_THAT(open.err, HasSubstr("--no-auth"));
  EXPECT_EQ(refused(files.arguments({"--api-key-file", files.folder.path_of("none")})).status, 1);
  const test::ProgramResult missing = refused({"-m", files.folder.path_of("none"), "--port", "0"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("none"));
}

}  // namespace
}  // namespace fathom::app
