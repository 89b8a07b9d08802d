// -p, -f, --messages, --ids, a pipe; raw or as a chat.
#include "prompt.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "codec/utf8.h"
#include "command.h"
#include "options.h"
#include "terminal.h"

namespace fathom::app {

std::string valid_text(std::string text, const char* what) {
  if (!codec::is_valid_utf8(text)) {
    warn(fmt::format("{} is not valid UTF-8; each wrong part was replaced by U+FFFD", what));
    text = codec::replace_invalid_utf8(text);
  }
  return text;
}

void add_prompt_flags(CommandLine& app, PromptFlags& flags) {
  auto* text = app.add_option("-p,--prompt", flags.text, "The prompt")->type_name("TEXT");
  auto* file = app.add_option("-f,--file", flags.file, "Read the prompt from a file")
                   ->check(require_name)
                   ->type_name("FILE")
                   ->excludes(text);
  auto* ids = add_ids(app, flags.ids)->excludes(text)->excludes(file);
  const ChatOptions chat = add_chat_flags(app, flags.chat);
  for (Option* option : {chat.system, chat.chat_template, chat.variables}) {
    option->excludes(ids);
  }
  chat.messages->excludes(text)->excludes(file)->excludes(ids);
  app.add_flag("--raw", flags.is_raw,
               "No chat template: continue the text; control tokens written in it count as such")
      ->excludes(ids)
      ->excludes(chat.system)
      ->excludes(chat.chat_template)
      ->excludes(chat.variables)
      ->excludes(chat.messages);
}

std::string read_plain_text(const std::string& path, const char* what) {
  return valid_text(without_last_line_end(read_text_file(path)), what);
}

Prompt read_prompt(const PromptFlags& flags) {
  if (!flags.ids.empty()) {
    return {PromptKind::kIds, ""};
  }
  if (!flags.chat.messages_file.empty()) {
    return {PromptKind::kMessages, ""};
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
    throw UsageError(
        "there is no prompt: stdin is empty; give -p TEXT, -f FILE, --messages FILE or --ids "
        "1,2,3");
  }
  return {PromptKind::kText, valid_text(std::move(piped), "the prompt")};
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
  const codec::ChatTemplate chat = load_chat_template(flags.chat, tokenizer->vocabulary());
  return codec::encode_rendered(*tokenizer, chat.render(read_conversation(flags.chat, prompt.text)))
      .ids;
}

}  // namespace fathom::app
