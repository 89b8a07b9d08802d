// The one place with signal handlers. Read next: chat_loop.cc.
#include "signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "command.h"

namespace fathom::app {

namespace {

enum class OnInterrupt { kExit, kStop, kStopped };

// A handler can reach nothing but a global. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
std::atomic<OnInterrupt> on_interrupt{OnInterrupt::kExit};
static_assert(std::atomic<OnInterrupt>::is_always_lock_free);

extern "C" void handle_interrupt(int) {
  OnInterrupt expected = OnInterrupt::kStop;
  if (!on_interrupt.compare_exchange_strong(expected, OnInterrupt::kStopped)) {
    ::_exit(kExitInterrupted);
  }
}

}  // namespace

void open_standard_streams() {
  while (true) {
    const int fd = ::open("/dev/null", O_RDONLY);  // takes the lowest free number
    if (fd < 0 || fd > STDERR_FILENO) {
      ::close(fd);
      return;
    }
  }
}

void install_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);

  struct sigaction action {};

  action.sa_handler = handle_interrupt;  // no SA_RESTART: a read from the terminal ends
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

namespace {

sigset_t server_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

void hold_signals() {
  const sigset_t set = server_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

int next_signal(int milliseconds) {
  const sigset_t set = server_signals();
  const timespec wait{.tv_sec = milliseconds / 1000,
                      .tv_nsec = int64_t{milliseconds % 1000} * 1'000'000};
  const int signal = sigtimedwait(&set, nullptr, &wait);
  return signal > 0 ? signal : 0;
}

StopScope::StopScope() {
  rearm();
}

StopScope::~StopScope() {
  on_interrupt.store(OnInterrupt::kExit);
}

void StopScope::rearm() {
  on_interrupt.store(OnInterrupt::kStop);
}

bool StopScope::is_stopped() {
  return on_interrupt.load() == OnInterrupt::kStopped;
}

}  // namespace fathom::app
