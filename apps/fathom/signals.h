// Ctrl-C: ends the program, or only the answer that is being written.
// Called by apps/fathom/main.cc, run.cc, chat_loop.cc.
#pragma once

namespace fathom::app {

// Ctrl-C ends the program with status 130 until a StopScope says otherwise; writing to a closed
// pipe becomes an error instead of a signal.
void install_signals();

// While it lives, the first Ctrl-C only raises the flag; a second one ends the program.
class StopScope {
 public:
  StopScope();
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  // Ctrl-C came since the scope began.
  [[nodiscard]] static bool is_stopped();
};

}  // namespace fathom::app
