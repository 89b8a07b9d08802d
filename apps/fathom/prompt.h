// Where a prompt comes from, and how it becomes token ids.
// Called by run.cc, chat_loop.cc, perplexity.cc. Read next: chat_flags.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/session.h"
#include "chat_flags.h"
#include "command_line.h"

namespace fathom::app {

struct PromptFlags {
  std::optional<std::string> text;
  std::string file;
  std::vector<int32_t> ids;
  bool is_raw = false;
  ChatFlags chat;
};

// -p -f --ids --raw, and those of chat_flags.h
void add_prompt_flags(CommandLine& app, PromptFlags& flags);

// A text file: valid UTF-8 (wrong parts of `what` replaced, with a warning), without one line end
// at its end. Errors: those of read_text_file.
std::string read_plain_text(const std::string& path, const char* what);

// `text`, with a warning about `what` and U+FFFD for each part that is not valid UTF-8.
std::string valid_text(std::string text, const char* what);

enum class PromptKind { kIds, kText, kMessages, kChat };

struct Prompt {
  PromptKind kind = PromptKind::kChat;  // kChat: none was given and stdin is a terminal
  std::string text;
};

// Reads -p, -f or the pipe; one line end at the end of a file or pipe is dropped. Invalid UTF-8 is
// replaced, with a warning. Errors: UsageError (an empty pipe), those of read_text_file.
Prompt read_prompt(const PromptFlags& flags);

// Ids of a prompt for this model: --ids as they are; --raw text with the tokens that the model's
// tokenizer adds around a text, control tokens written in it being parsed; else what the chat
// template makes of the messages. Errors: kUnsupported for text without a vocabulary, those of
// load_chat_template and of rendering.
std::vector<int32_t> prompt_ids(const Prompt& prompt, const PromptFlags& flags,
                                const api::Session& session);

}  // namespace fathom::app
