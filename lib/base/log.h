// Warnings and notes to stderr; stdout belongs to the answer.
// Called by api and the command, from any thread. Read next: base/error.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fathom {

enum class LogLevel { kDebug, kNote, kWarning, kError };

// Lines below `level` are dropped. Default: kNote.
void set_log_level(LogLevel level);

// Writes one line "fathom: warning: text" (no prefix word for notes).
void log_line(LogLevel level, std::string_view text);

inline void note(std::string_view text) {
  log_line(LogLevel::kNote, text);
}

inline void warn(std::string_view text) {
  log_line(LogLevel::kWarning, text);
}

// Warnings written so far, for `--json`; at most 100 are kept.
std::vector<std::string> logged_warnings();

}  // namespace fathom
