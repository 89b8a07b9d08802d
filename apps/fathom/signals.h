// What the shell hands over: Ctrl-C, which ends the program or only the answer that is being
// written, and the standard streams.
// Called by apps/fathom/main.cc, run.cc, chat_loop.cc, serve.cc.
#pragma once

namespace fathom::app {

// Where stdin, stdout or stderr came closed, puts /dev/null there for reading: no file of the
// program gets that number and the messages meant for it, and writing the answer still fails.
void open_standard_streams();

// Ctrl-C ends the program with status 130 until a StopScope says otherwise; writing to a closed
// pipe, or beyond the largest file allowed, becomes an error instead of a signal.
void install_signals();

// While it lives, the first Ctrl-C only raises the flag; a second one ends the program. A chat
// holds one from its first prompt to its end, so that no moment is left in which Ctrl-C would end
// it.
class StopScope {
 public:
  StopScope();
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  // Lowers the flag: the next Ctrl-C is the first again.
  static void rearm();

  // Ctrl-C came since the scope began, or since rearm().
  [[nodiscard]] static bool is_stopped();
};

// For a server: SIGTERM, SIGINT and SIGHUP are taken by next_signal() only, in this thread and in
// all that it starts from now on.
void hold_signals();

// The next of them, or 0 when none comes within `milliseconds`.
int next_signal(int milliseconds);

}  // namespace fathom::app
