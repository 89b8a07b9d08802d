// Where a prompt comes from, and how it becomes token ids.
// Called by run.cc, chat_loop.cc, perplexity.cc. Read next: codec/chat_format.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/session.h"
#include "codec/chat_format.h"

namespace CLI {
class App;
}  // namespace CLI

namespace fathom::app {

struct PromptFlags {
  std::optional<std::string> text;
  std::string file;
  std::vector<int32_t> ids;
  std::optional<std::string> system;  // as given: TEXT or @FILE; "" is a message without words
  bool is_raw = false;
  std::string chat_format;
};

// -p -f --ids --system --raw --chat-format
void add_prompt_flags(CLI::App& app, PromptFlags& flags);

// A text file: valid UTF-8 (wrong parts of `what` replaced, with a warning), without one line end
// at its end. Errors: those of read_text_file.
std::string read_plain_text(const std::string& path, const char* what);

enum class PromptKind { kIds, kText, kChat };

struct Prompt {
  PromptKind kind = PromptKind::kChat;  // kChat: none was given and stdin is a terminal
  std::string text;
};

// Reads -p, -f or the pipe; one line end at the end of a file or pipe is dropped. Invalid UTF-8 is
// replaced, with a warning. Errors: UsageError (an empty pipe), those of read_text_file.
Prompt read_prompt(const PromptFlags& flags);

// The system message; nothing when none was given.
std::optional<std::string> read_system(const PromptFlags& flags);

// --chat-format, or what the file's template says.
codec::ChatFormat pick_chat_format(const PromptFlags& flags, const codec::Tokenizer& tokenizer);

// Ids of a prompt for this model: --ids as they are; --raw text with the tokens that the model's
// tokenizer adds around a text, control tokens written in it being parsed; else one user message.
// Error: kUnsupported for text without a vocabulary.
std::vector<int32_t> prompt_ids(const Prompt& prompt, const PromptFlags& flags,
                                const api::Session& session);

}  // namespace fathom::app
