// -p, -f, --ids, a pipe; raw or as a chat message.
#include "prompt.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "codec/utf8.h"
#include "command.h"
#include "options.h"
#include "terminal.h"

namespace fathom::app {

namespace {

std::string valid_text(std::string text, const char* what) {
  if (!codec::is_valid_utf8(text)) {
    warn(fmt::format("{} is not valid UTF-8; each wrong part was replaced by U+FFFD", what));
    text = codec::replace_invalid_utf8(text);
  }
  return text;
}

// A text file ends with a line end that its author does not mean.
std::string without_last_line_end(std::string text) {
  if (text.ends_with('\n')) {
    text.pop_back();
    if (text.ends_with('\r')) {
      text.pop_back();
    }
  }
  return text;
}

}  // namespace

void add_prompt_flags(CLI::App& app, PromptFlags& flags) {
  auto* text = app.add_option("-p,--prompt", flags.text, "The prompt")->type_name("TEXT");
  auto* file = app.add_option("-f,--file", flags.file, "Read the prompt from a file")
                   ->check(require_name)
                   ->type_name("FILE")
                   ->excludes(text);
  auto* ids = add_ids(app, flags.ids)->excludes(text)->excludes(file);
  auto* system = app.add_option("--system", flags.system, "System message, or @FILE that holds it")
                     ->check([](const std::string& given) {
                       return given == "@" ? require_name("") : std::string();
                     })
                     ->type_name("TEXT|@FILE")
                     ->excludes(ids);
  auto* format =
      app.add_option("--chat-format", flags.chat_format,
                     "Instead of what the file's template says: " + codec::chat_format_names())
          ->check([](const std::string& name) {
            return codec::find_chat_format(name)
                       ? std::string()
                       : fmt::format("'{}' is none of {}", name, codec::chat_format_names());
          })
          ->type_name("NAME")
          ->excludes(ids);
  app.add_flag("--raw", flags.is_raw,
               "No chat format: continue the text; control tokens written in it count as such")
      ->excludes(ids)
      ->excludes(system)
      ->excludes(format);
}

std::string read_plain_text(const std::string& path, const char* what) {
  return valid_text(without_last_line_end(read_text_file(path)), what);
}

Prompt read_prompt(const PromptFlags& flags) {
  if (!flags.ids.empty()) {
    return {PromptKind::kIds, ""};
  }
  if (flags.text) {
    return {PromptKind::kText, valid_text(*flags.text, "the prompt")};
  }
  if (!flags.file.empty()) {
    return {PromptKind::kText, read_plain_text(flags.file, "the prompt")};
  }
  if (stdin_is_terminal()) {
    return {PromptKind::kChat, ""};
  }
  std::string piped = without_last_line_end(read_stdin());
  if (piped.empty()) {
    throw UsageError("there is no prompt: stdin is empty; give -p TEXT, -f FILE or --ids 1,2,3");
  }
  return {PromptKind::kText, valid_text(std::move(piped), "the prompt")};
}

std::optional<std::string> read_system(const PromptFlags& flags) {
  if (!flags.system) {
    return std::nullopt;
  }
  std::string text = flags.system->starts_with('@')
                         ? without_last_line_end(read_text_file(flags.system->substr(1)))
                         : *flags.system;
  return valid_text(std::move(text), "the system message");
}

codec::ChatFormat pick_chat_format(const PromptFlags& flags, const codec::Tokenizer& tokenizer) {
  if (const auto format = codec::find_chat_format(flags.chat_format)) {
    return *format;
  }
  return codec::detect_chat_format(tokenizer.vocabulary());
}

std::vector<int32_t> prompt_ids(const Prompt& prompt, const PromptFlags& flags,
                                const api::Session& session) {
  if (prompt.kind == PromptKind::kIds) {
    return flags.ids;
  }
  const codec::Tokenizer* tokenizer = session.tokenizer();
  if (tokenizer == nullptr) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: no vocabulary that Fathom reads; give the prompt as --ids 1,2,3",
                     session.file().metadata.path()));
  }
  if (flags.is_raw) {
    return tokenizer->encode(prompt.text, {.add_special = true, .parse_special = true});
  }
  std::vector<codec::Message> messages;
  if (const auto system = read_system(flags)) {
    messages.push_back({"system", *system});
  }
  messages.push_back({"user", prompt.text});
  return codec::encode_chat(*tokenizer, pick_chat_format(flags, *tokenizer), messages);
}

}  // namespace fathom::app
