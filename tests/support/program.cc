// fork, exec, poll, wait4. Read next: tests/apps/fathom/run_test.cc.
#include "support/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace fathom::test {

namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      throw std::runtime_error("pipe2 failed");
    }
    read_end = ends[0];
    write_end = ends[1];
  }

  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }

  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  static void close_end(int& end) {
    if (end >= 0) {
      ::close(end);
      end = -1;
    }
  }
};

void limit(__rlimit_resource resource, int64_t value) {
  const rlimit both = {static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  ::setrlimit(resource, &both);
}

[[noreturn]] void become(const std::string& program, const ProgramInput& input, const Pipe& in,
                         const Pipe& out, const Pipe& err) {
  ::dup2(in.read_end, STDIN_FILENO);
  ::dup2(out.write_end, STDOUT_FILENO);
  ::dup2(err.write_end, STDERR_FILENO);
  for (const std::string& entry : input.environment) {
    ::putenv(const_cast<char*>(entry.c_str()));
  }
  std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : input.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  limit(RLIMIT_CPU, 240);
  if (input.address_space_bytes > 0) {
    limit(RLIMIT_AS, input.address_space_bytes);
  }
  ::execv(program.c_str(), arguments.data());
  ::_exit(127);
}

// Reads what is there; closes the end at the end of the stream. True when a byte came.
bool drain(int& end, std::string& text) {
  std::array<char, 65536> piece;
  const ssize_t n = ::read(end, piece.data(), piece.size());
  if (n > 0) {
    text.append(piece.data(), static_cast<size_t>(n));
    return true;
  }
  if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
    Pipe::close_end(end);
  }
  return false;
}

void send(int& end, std::string_view& rest) {
  const ssize_t n = rest.empty() ? 0 : ::write(end, rest.data(), rest.size());
  if (n > 0) {
    rest.remove_prefix(static_cast<size_t>(n));
  }
  if (rest.empty() || (n < 0 && errno != EINTR && errno != EAGAIN)) {
    Pipe::close_end(end);
  }
}

}  // namespace

ProgramResult run_program(const std::string& program, const ProgramInput& input) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe in;
  Pipe out;
  Pipe err;
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGPIPE, SIG_DFL);
    become(program, input, in, out, err);
  }
  Pipe::close_end(in.read_end);
  Pipe::close_end(out.write_end);
  Pipe::close_end(err.write_end);
  ::fcntl(in.write_end, F_SETFL, O_NONBLOCK);
  ProgramResult result;
  std::string_view rest = input.standard_input;
  Clock::time_point interrupt_at = Clock::time_point::max();
  while (out.read_end >= 0 || err.read_end >= 0) {
    std::array<pollfd, 3> waits = {pollfd{out.read_end, POLLIN, 0}, pollfd{err.read_end, POLLIN, 0},
                                   pollfd{in.write_end, POLLOUT, 0}};
    ::poll(waits.data(), waits.size(), 20);
    if (waits[0].revents != 0 && drain(out.read_end, result.out)) {
      if (input.interrupt_after_ms >= 0 && interrupt_at == Clock::time_point::max()) {
        interrupt_at = Clock::now() + std::chrono::milliseconds(input.interrupt_after_ms);
      }
      if (input.close_output) {
        Pipe::close_end(out.read_end);
      }
    }
    if (waits[1].revents != 0) {
      drain(err.read_end, result.err);
    }
    if (waits[2].revents != 0) {
      send(in.write_end, rest);
    }
    if (Clock::now() >= interrupt_at) {
      ::kill(child, SIGINT);
      interrupt_at = Clock::time_point::max() - std::chrono::milliseconds(1);
    }
  }
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  result.peak_resident_bytes = int64_t{usage.ru_maxrss} * 1024;
  return result;
}

}  // namespace fathom::test
