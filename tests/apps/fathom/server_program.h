// `fathom serve` as a child process: its log, its port, signals to it.
// Called by tests of apps/fathom/serve.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "support/program.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::test {

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

// The tiny model in a folder of its own.
struct ModelFolder {
  TempFolder folder;
  std::string model;

  ModelFolder() : model(folder.path_of("tiny.gguf")) { tiny_chat_gguf().write(model); }

  [[nodiscard]] std::vector<std::string> arguments(std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"-m", model, "--port", "0", "-c", "512", "-t", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

// What `fathom serve` says that ends by itself.
inline ProgramResult refused(const std::vector<std::string>& arguments,
                             std::vector<std::string> environment = {}) {
  std::vector<std::string> all = {"serve"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_program(FATHOM_PROGRAM, {.arguments = all, .environment = std::move(environment)});
}

}  // namespace fathom::test
