// Reads and writes by system calls, so that a signal and a closed pipe are seen at once.
#include "terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <utility>

#include "base/error.h"
#include "signals.h"

namespace fathom::app {

namespace {

constexpr auto kQuietLoad = std::chrono::seconds(1);

// Waits until stdin has bytes or ends. False: Ctrl-C came, maybe just before the call, which is why
// the flag is looked at from time to time and not only where a system call was cut short.
bool wait_for_stdin() {
  constexpr int kLookMs = 100;
  while (!StopScope::is_stopped()) {
    pollfd wait = {STDIN_FILENO, POLLIN, 0};
    if (::poll(&wait, 1, kLookMs) > 0) {
      return true;
    }
  }
  return false;
}

// More than any text that is read as a whole; a device without an end is refused, not read.
constexpr size_t kMaxTextBytes = size_t{1} << 30;

// All that `fd` gives. Error: kInvalidArgument naming `name`.
std::string read_all(int fd, const std::string& name) {
  std::string text;
  std::array<char, 65536> piece;
  while (true) {
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if (n == 0) {
      return text;
    }
    if (n > 0) {
      text.append(piece.data(), static_cast<size_t>(n));
      if (text.size() > kMaxTextBytes) {
        fail(ErrorCode::kInvalidArgument,
             fmt::format("{}: found more than {} bytes of text; expected less", name,
                         kMaxTextBytes));
      }
    } else if (errno != EINTR) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("{}: cannot be read: {}", name, std::strerror(errno)));
    }
  }
}

}  // namespace

bool stdin_is_terminal() {
  return ::isatty(STDIN_FILENO) == 1;
}

bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

void AnswerWriter::write(std::string_view text) {
  while (!text.empty() && !is_closed_) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n > 0) {
      at_line_start_ = text[static_cast<size_t>(n) - 1] == '\n';
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EPIPE) {
      is_closed_ = true;
    } else if (errno != EINTR) {
      fail(ErrorCode::kResourceExhausted,
           fmt::format("stdout: cannot be written: {}", std::strerror(errno)));
    }
  }
}

LoadBar::LoadBar(std::string what)
    : what_(std::move(what)),
      start_(std::chrono::steady_clock::now()),
      is_on_(stderr_is_terminal()) {}

LoadBar::~LoadBar() {
  if (shown_percent_ >= 0) {
    std::fputs("\r\033[K", stderr);
  }
}

void LoadBar::show(int64_t done, int64_t all) {
  if (!is_on_ || all <= 0 || std::chrono::steady_clock::now() - start_ < kQuietLoad) {
    return;
  }
  const int percent =
      static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(all));
  if (percent == shown_percent_) {
    return;
  }
  shown_percent_ = percent;
  constexpr int kWidth = 40;
  const auto filled = static_cast<size_t>(percent * kWidth / 100);
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  std::fprintf(stderr, "\r%s [%s] %d %%", what_.c_str(), bar.c_str(), percent);
  std::fflush(stderr);
}

LineReader::Outcome LineReader::read(std::string& line) {
  while (true) {
    const size_t end = rest_.find('\n');
    if (end != std::string::npos) {
      line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      if (line.ends_with('\r')) {
        line.pop_back();
      }
      return Outcome::kLine;
    }
    if (is_ended_) {
      line = std::move(rest_);
      rest_.clear();
      return line.empty() ? Outcome::kEnd : Outcome::kLine;
    }
    if (!wait_for_stdin()) {
      rest_.clear();
      return Outcome::kInterrupted;
    }
    std::array<char, 4096> piece;
    const ssize_t n = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (n > 0) {
      rest_.append(piece.data(), static_cast<size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      is_ended_ = true;
    }
  }
}

std::string read_stdin() {
  return read_all(STDIN_FILENO, "stdin");
}

int finish_lines(int status) {
  if (std::cin.bad()) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("stdin: cannot be read: {}", std::strerror(errno)));
  }
  if (status != 0 && errno != EPIPE) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("stdout: cannot be written: {}", std::strerror(errno)));
  }
  return 0;
}

std::string without_last_line_end(std::string text) {
  if (text.ends_with('\n')) {
    text.pop_back();
    if (text.ends_with('\r')) {
      text.pop_back();
    }
  }
  return text;
}

std::string read_text_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    fail(ErrorCode::kNotFound, fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }

  struct Closer {
    int fd;

    ~Closer() { ::close(fd); }
  } closer{fd};

  return read_all(closer.fd, path);
}

}  // namespace fathom::app
