// The chat as a person at a terminal has it: a pseudo-terminal types, reads and presses Ctrl-C.
// Read next: apps/fathom/chat_loop.cc.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::app {
namespace {

using testing::HasSubstr;
using testing::Not;

// The program with a terminal as stdin, stdout and stderr, echo off.
class TerminalProgram {
 public:
  explicit TerminalProgram(std::vector<std::string> arguments) {
    termios mode{};
    child_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (child_ == 0) {
      ::tcgetattr(STDIN_FILENO, &mode);
      mode.c_lflag &= ~static_cast<tcflag_t>(ECHO);
      mode.c_oflag &= ~static_cast<tcflag_t>(OPOST);
      ::tcsetattr(STDIN_FILENO, TCSANOW, &mode);
      std::vector<char*> pointers = {const_cast<char*>(FATHOM_PROGRAM)};
      for (std::string& argument : arguments) {
        pointers.push_back(argument.data());
      }
      pointers.push_back(nullptr);
      ::execv(FATHOM_PROGRAM, pointers.data());
      ::_exit(127);
    }
  }

  ~TerminalProgram() {
    ::close(terminal_);
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }

  TerminalProgram(const TerminalProgram&) = delete;
  TerminalProgram& operator=(const TerminalProgram&) = delete;

  void type(const std::string& text) {
    ASSERT_EQ(::write(terminal_, text.data(), text.size()), std::ssize(text));
  }

  // Output from here on until `text` was seen; "" after a minute.
  std::string read_until(const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      const size_t at = seen_.find(text);
      if (at != std::string::npos) {
        std::string part = seen_.substr(0, at + text.size());
        seen_.erase(0, at + text.size());
        return part;
      }
      pollfd wait = {terminal_, POLLIN, 0};
      if (::poll(&wait, 1, 100) == 1) {
        std::array<char, 4096> piece;
        const ssize_t n = ::read(terminal_, piece.data(), piece.size());
        if (n <= 0) {
          break;
        }
        seen_.append(piece.data(), static_cast<size_t>(n));
      }
    }
    ADD_FAILURE() << "'" << text << "' did not come; there was: " << seen_;
    return "";
  }

  int wait() {
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  int terminal_ = -1;
  pid_t child_ = -1;
  std::string seen_;
};

class ChatLoopTest : public testing::Test {
 protected:
  // Answers with "AAAA...": at most `n` of them.
  std::vector<std::string> arguments(const std::string& n, std::vector<std::string> more = {}) {
    const std::string model = test::tiny_chat_gguf().write(folder_.path_of("m.gguf"));
    std::vector<std::string> all = {
        "run",          "-m",      model, "--temp", "0",  "--ignore-eos",
        "--logit-bias", "65=1000", "-n",  n,        "-t", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // What /save wrote, one message a line.
  std::vector<nlohmann::json> saved(const std::string& name) {
    std::vector<nlohmann::json> messages;
    std::istringstream in(test::read_text(folder_.path_of(name)));
    std::string line;
    while (std::getline(in, line)) {
      messages.push_back(nlohmann::json::parse(line));
    }
    return messages;
  }

  test::TempFolder folder_;
};

TEST_F(ChatLoopTest, AnswersRemembersSavesAndForgets) {
  TerminalProgram chat(arguments("3", {"--system", "be brief"}));
  EXPECT_THAT(chat.read_until("> "), HasSubstr("/exit"));
  chat.type("hello\n");
  EXPECT_THAT(chat.read_until("> "), HasSubstr("AAA\n"));
  chat.type("and\\\nmore\n");
  EXPECT_THAT(chat.read_until(". "), Not(HasSubstr("AAA")));
  EXPECT_THAT(chat.read_until("> "), HasSubstr("AAA\n"));
  chat.type("\"\"\"\nline 1\nline 2\n\"\"\"\n");
  chat.read_until("AAA\n");
  chat.read_until("> ");
  chat.type("/save " + folder_.path_of("chat.jsonl") + "\n");
  EXPECT_THAT(chat.read_until("> "), HasSubstr("7 messages"));
  const auto messages = saved("chat.jsonl");
  ASSERT_EQ(messages.size(), 7U);
  EXPECT_EQ(messages[0]["role"], "system");
  EXPECT_EQ(messages[1]["content"], "hello");
  EXPECT_EQ(messages[2]["content"], "AAA");
  EXPECT_EQ(messages[2]["role"], "assistant");
  EXPECT_EQ(messages[3]["content"], "and\nmore");
  EXPECT_EQ(messages[5]["content"], "line 1\nline 2");
  chat.type("/clear\n");
  chat.read_until("> ");
  chat.type("/save " + folder_.path_of("empty.jsonl") + "\n");
  chat.read_until("> ");
  EXPECT_EQ(saved("empty.jsonl").size(), 1U);
  chat.type("/nosuch\n");
  EXPECT_THAT(chat.read_until("> "), HasSubstr("unknown command"));
  chat.type("/exit \n");
  EXPECT_EQ(chat.wait(), 0);
}

TEST_F(ChatLoopTest, InterruptStopsTheAnswerAndNotTheProgram) {
  TerminalProgram chat(arguments("4000"));
  chat.read_until("> ");
  chat.type("go\n");
  chat.read_until("AAAA");
  chat.type("\x03");
  EXPECT_THAT(chat.read_until("> "), HasSubstr("(stopped)"));
  chat.type("\x03");  // at the prompt
  EXPECT_THAT(chat.read_until("> "), HasSubstr("Ctrl-D"));
  chat.type("\x04");  // the end of stdin
  EXPECT_EQ(chat.wait(), 0);
}

// Whenever it comes: in an answer, at its end, before the prompt, at the prompt.
TEST_F(ChatLoopTest, NoMomentInWhichOneInterruptEndsTheChat) {
  TerminalProgram chat(arguments("1"));
  chat.read_until("> ");
  for (int i = 0; i < 20; ++i) {
    chat.type("go\n");
    std::this_thread::sleep_for(std::chrono::microseconds(250 * i));
    chat.type("\x03");
    const std::string mark = fmt::format("/mark{}", i);
    chat.type(mark + "\n");
    chat.read_until(fmt::format("unknown command '{}'", mark));
    chat.read_until("> ");
  }
  chat.type("/exit\n");
  EXPECT_EQ(chat.wait(), 0);
}

TEST_F(ChatLoopTest, AFullContextIsSaidAndALongMessageIsDropped) {
  TerminalProgram chat(arguments("500", {"-c", "128"}));
  chat.read_until("> ");
  chat.type(std::string(200, 'x') + "\n");
  EXPECT_THAT(chat.read_until("> "), HasSubstr("128"));
  chat.type("hi\n");
  EXPECT_THAT(chat.read_until("> "), HasSubstr("context of 128 tokens is full"));
  chat.type("/exit\n");
  EXPECT_EQ(chat.wait(), 0);
}

}  // namespace
}  // namespace fathom::app
