// Standard streams as a person or a pipe sees them.
// Called by apps/fathom/*.cc. Read next: chat_loop.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::app {

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

// stdout, unbuffered. A reader that went away is no error: writing just stops.
class AnswerWriter {
 public:
  // Error: kResourceExhausted (disk full and the like).
  void write(std::string_view text);

  // The reader closed the pipe.
  [[nodiscard]] bool is_closed() const { return is_closed_; }

  // The last byte written was a line end, or nothing was written.
  [[nodiscard]] bool at_line_start() const { return at_line_start_; }

 private:
  bool is_closed_ = false;
  bool at_line_start_ = true;
};

// "loading 43 %" on a terminal, or `what` instead of loading, when it takes over a second; removed
// when done.
class LoadBar {
 public:
  explicit LoadBar(std::string what = "loading");
  ~LoadBar();
  LoadBar(const LoadBar&) = delete;
  LoadBar& operator=(const LoadBar&) = delete;

  void show(int64_t done, int64_t all);

 private:
  std::string what_;
  std::chrono::steady_clock::time_point start_;
  int shown_percent_ = -1;
  bool is_on_;
};

// Lines of stdin, read without buffering beyond it.
class LineReader {
 public:
  enum class Outcome { kLine, kEnd, kInterrupted };

  // Replaces `line`, without its line end. kInterrupted: Ctrl-C came since StopScope::rearm().
  Outcome read(std::string& line);

 private:
  std::string rest_;
  bool is_ended_ = false;
};

// All of stdin, or of a file. Errors: kNotFound, kInvalidArgument (cannot be read, above 1 GiB).
std::string read_stdin();
std::string read_text_file(const std::string& path);

// The exit status after lines of stdin were answered on stdout with `status`: 0, also for a reader
// that went away. Errors: kInvalidArgument (stdin), kResourceExhausted (stdout), with the reason.
int finish_lines(int status);

// A text file or pipe ends with a line end that its author does not mean.
std::string without_last_line_end(std::string text);

}  // namespace fathom::app
