// Reads a message, lets the model answer, remembers both.
#include "chat_loop.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/output_file.h"
#include "codec/utf8.h"
#include "command.h"
#include "run_report.h"
#include "signals.h"
#include "terminal.h"

namespace fathom::app {

namespace {

constexpr const char* kHelp =
    "/exit ends the chat, /clear forgets it, /save FILE keeps it; \\ at the end of a line or "
    "\"\"\" "
    "around lines makes a message of several; Ctrl-C stops an answer\n";

// Error: kUnsupported for a model without one.
const codec::Vocabulary& vocabulary_of(const api::Session& session) {
  if (session.tokenizer() == nullptr) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: no vocabulary that Fathom reads, so no chat; give --ids 1,2,3",
                     session.file().metadata.path()));
  }
  return session.tokenizer()->vocabulary();
}

class Chat {
 public:
  Chat(const RunFlags& flags, api::Session& session)
      : flags_(&flags),
        session_(&session),
        system_(read_system(flags.prompt.chat)),
        template_(load_chat_template(flags.prompt.chat, vocabulary_of(session))) {
    make_conversation(flags.prompt.chat, {});  // wrong variables are told before the first question
    clear();
  }

  int run() {
    const StopScope scope;
    std::fputs(kHelp, stderr);
    std::string message;
    while (read_message(message)) {
      if (message.empty()) {
        continue;
      }
      if (message.starts_with('/') && message.find('\n') == std::string::npos) {
        if (!obey(message.substr(0, message.find_last_not_of(" \t") + 1))) {
          return kExitDone;
        }
        continue;
      }
      answer(message);
      if (writer_.is_closed()) {
        return kExitDone;
      }
    }
    std::fputc('\n', stderr);
    return kExitDone;
  }

 private:
  void clear() {
    messages_.clear();
    if (system_) {
      messages_.push_back({"system", *system_});
    }
  }

  // One message, maybe of several lines. False at the end of stdin.
  bool read_message(std::string& message);

  // A command; false ends the chat.
  bool obey(const std::string& command);
  void save(const std::string& path) const;
  void answer(const std::string& message);

  const RunFlags* flags_;
  api::Session* session_;
  std::optional<std::string> system_;
  codec::ChatTemplate template_;
  std::vector<codec::Message> messages_;
  LineReader reader_;
  AnswerWriter writer_;
  uint32_t turn_ = 0;  // keys the draws, so that one seed does not repeat itself in every turn
};

bool Chat::read_message(std::string& message) {
  message.clear();
  bool is_quoted = false;
  StopScope::rearm();
  std::fputs("> ", stderr);
  while (true) {
    std::string line;
    const LineReader::Outcome outcome = reader_.read(line);
    if (outcome == LineReader::Outcome::kEnd) {
      return false;
    }
    if (outcome == LineReader::Outcome::kInterrupted) {
      StopScope::rearm();
      std::fputs("\n(/exit or Ctrl-D ends the chat)\n> ", stderr);
      message.clear();
      is_quoted = false;
      continue;
    }
    constexpr std::string_view kQuotes = "\"\"\"";
    if (!is_quoted && message.empty() && line.starts_with(kQuotes)) {
      is_quoted = true;
      line.erase(0, kQuotes.size());
      if (line.empty()) {
        continue;
      }
    }
    const bool closes = is_quoted && line.ends_with(kQuotes);
    if (closes) {
      line.resize(line.size() - kQuotes.size());
    }
    const bool goes_on = !is_quoted && line.ends_with('\\');
    if (goes_on) {
      line.pop_back();
    }
    message += line;
    if (closes || (!is_quoted && !goes_on)) {
      break;
    }
    message += '\n';
    std::fputs(". ", stderr);
  }
  if (is_quoted && message.ends_with('\n')) {
    message.pop_back();
  }
  if (!codec::is_valid_utf8(message)) {
    warn("the message is not valid UTF-8; each wrong part was replaced by U+FFFD");
    message = codec::replace_invalid_utf8(message);
  }
  return true;
}

bool Chat::obey(const std::string& command) {
  if (command == "/exit") {
    return false;
  }
  if (command == "/clear") {
    clear();
    std::fputs("(forgotten)\n", stderr);
  } else if (command.starts_with("/save ") && command.size() > 6) {
    try {
      save(command.substr(6));
    } catch (const Error& error) {
      std::fprintf(stderr, "fathom: error: %s\n", error.what());
    }
  } else {
    std::fprintf(stderr, "unknown command '%s'; %s", command.c_str(), kHelp);
  }
  return true;
}

void Chat::save(const std::string& path) const {
  OutputFile file(path);
  for (const codec::Message& message : messages_) {
    const nlohmann::ordered_json line = {{"role", message.role}, {"content", message.content}};
    file.write(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  file.commit();
  std::fprintf(stderr, "(%zu messages saved to %s)\n", messages_.size(), path.c_str());
}

void Chat::answer(const std::string& message) {
  messages_.push_back({"user", message});
  RunRecord record;
  try {
    const codec::Conversation talk = make_conversation(flags_->prompt.chat, messages_);
    record.prompt = codec::encode_rendered(*session_->tokenizer(), template_.render(talk)).ids;
    api::GenerateOptions options = generate_options(*flags_, record.prompt);
    options.choice = turn_++;
    options.on_text = [this](std::string_view text) { writer_.write(text); };
    options.cancelled = [this] { return StopScope::is_stopped() || writer_.is_closed(); };
    StopScope::rearm();
    record.result = api::generate(*session_, options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) {
      throw;
    }
    messages_.pop_back();  // the conversation stays as it was
    const bool is_full = error.code() == ErrorCode::kResourceExhausted;
    std::fprintf(stderr, "fathom: error: %s%s\n", error.what(),
                 is_full ? " (/clear makes room)" : "");
    return;
  }
  if (!writer_.at_line_start()) {
    writer_.write("\n");
  }
  messages_.push_back({"assistant", record.result.text});
  if (record.result.reason == engine::FinishReason::kCancelled) {
    std::fputs("(stopped)\n", stderr);
  }
  if (is_context_full(*session_, record)) {
    warn(full_context_warning(*session_) + "; /clear makes room");
  }
  std::fprintf(stderr, "%s\n", summary_line(*session_, record).c_str());
}

}  // namespace

int chat_loop(const RunFlags& flags, api::Session& session) {
  return Chat(flags, session).run();
}

}  // namespace fathom::app
