// The server as its operator has it: flags, environment, settings file, signals, its log.
// Read next: apps/fathom/serve.cc.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/api/http/raw_client.h"
#include "support/program.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::app {
namespace {

using test::get;
using test::post;
using test::RawClient;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// `fathom serve` on a free port of this machine, ready.
class ServerProgram {
 public:
  explicit ServerProgram(std::vector<std::string> arguments,
                         const std::vector<std::string>& environment = {}) {
    int pipe_ends[2];
    if (::pipe(pipe_ends) != 0) {
      ADD_FAILURE();
      return;
    }
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(pipe_ends[1], STDERR_FILENO);
      ::close(pipe_ends[0]);
      ::close(pipe_ends[1]);
      for (const std::string& variable : environment) {
        ::putenv(const_cast<char*>(variable.c_str()));
      }
      std::vector<char*> pointers = {const_cast<char*>(FATHOM_PROGRAM), const_cast<char*>("serve")};
      for (std::string& argument : arguments) {
        pointers.push_back(argument.data());
      }
      pointers.push_back(nullptr);
      ::execv(FATHOM_PROGRAM, pointers.data());
      ::_exit(127);
    }
    ::close(pipe_ends[1]);
    log_ = pipe_ends[0];
    const std::string listening = log_until("; loading");
    port_ = std::atoi(listening.substr(listening.rfind(':', listening.rfind(';')) + 1).c_str());
  }

  ~ServerProgram() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::close(log_);
  }

  ServerProgram(const ServerProgram&) = delete;
  ServerProgram& operator=(const ServerProgram&) = delete;

  [[nodiscard]] int port() const { return port_; }

  void wait_until_ready() { log_until("ready at"); }

  void send_signal(int signal) const { ::kill(child_, signal); }

  // What the program has written to stderr since the last call, up to and with `part`.
  std::string log_until(const std::string& part) {
    while (text_.find(part) == std::string::npos) {
      if (!read_some()) {
        ADD_FAILURE() << "no '" << part << "' in: " << text_;
        return text_;
      }
    }
    const size_t end = text_.find(part) + part.size();
    std::string taken = text_.substr(0, end);
    text_.erase(0, end);
    return taken;
  }

  // The exit status, or -signal; `rest`: the log's end.
  int wait_for_end(std::string* rest = nullptr) {
    while (read_some()) {
    }
    if (rest != nullptr) {
      *rest = text_;
    }
    int status = 0;
    ::waitpid(std::exchange(child_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  bool read_some() {
    pollfd wait{.fd = log_, .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, 120'000) <= 0) {
      ADD_FAILURE() << "the program is silent";
      return false;
    }
    char buffer[4096];
    const ssize_t n = ::read(log_, buffer, sizeof buffer);
    if (n <= 0) {
      return false;
    }
    text_.append(buffer, static_cast<size_t>(n));
    return true;
  }

  pid_t child_ = -1;
  int log_ = -1;
  int port_ = 0;
  std::string text_;
};

struct Files {
  test::TempFolder folder;
  std::string model;

  Files() : model(folder.path_of("tiny.gguf")) { test::tiny_chat_gguf().write(model); }

  [[nodiscard]] std::vector<std::string> arguments(std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"-m", model, "--port", "0", "-c", "512", "-t", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

test::ProgramResult refused(const std::vector<std::string>& arguments,
                            std::vector<std::string> environment = {}) {
  std::vector<std::string> all = {"serve"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return test::run_program(FATHOM_PROGRAM,
                           {.arguments = all, .environment = std::move(environment)});
}

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
  EXPECT_THAT(folder.err, HasSubstr("is a folder; expected a TOML file"));
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
