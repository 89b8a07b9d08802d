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

// How lines look: "fathom: text"; with the time before it, for servers; or a JSON object with time,
// level and message. Default: kPlain.
enum class LogFormat { kPlain, kTimed, kJson };
void set_log_format(LogFormat format);

// Writes one line "fathom: warning: text" (no prefix word for notes).
void log_line(LogLevel level, std::string_view text);

// A note with fields: `text` in the text formats; in JSON `members`, as in "\"id\":7,\"ok\":true",
// in place of a message.
void log_record(std::string_view text, std::string_view members);

// `text` as a JSON string, quotes and all; bytes that are not ASCII stay as they are.
std::string quote_json(std::string_view text);

inline void note(std::string_view text) {
  log_line(LogLevel::kNote, text);
}

inline void warn(std::string_view text) {
  log_line(LogLevel::kWarning, text);
}

// Warnings written so far, for `--json`; at most 100 are kept.
std::vector<std::string> logged_warnings();

}  // namespace fathom
