// A prompt taken apart: every token with its place in the text and who wrote it, and what is odd.
// Called by apps (inspect --prompt). Read next: codec/chat_template.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "codec/chat_template.h"
#include "codec/conversation.h"
#include "codec/tokenizer.h"

namespace fathom::api {

struct PromptToken {
  codec::TokenId id = 0;
  std::string bytes;          // what the token stands for; maybe a part of a character
  bool is_control = false;    // a control token, not text that looks like one
  size_t begin = 0, end = 0;  // of the prompt's text; equal where it has no place there
  std::string origin;         // "template", "message 0 content", "tools[1].name", "tokenizer"; two
                              // joined by " + "; "?" where normalization changed the text
};

struct PromptView {
  std::string template_name;
  codec::jinja::Rendered rendered;
  std::vector<PromptToken> tokens;
  std::vector<std::string> warnings;
};

// Renders, encodes and looks. Warns of control tokens' text in what is not the template's, of a
// BOS that both template and tokenizer write, of an assistant's message without an end mark behind
// it, and of a model without any end token. Errors: those of ChatTemplate::render.
PromptView view_prompt(const codec::Tokenizer& tokenizer, const codec::ChatTemplate& chat,
                       const codec::Conversation& conversation);

// "template", "message 3 tool_calls[0].function.name", "tools[1].name".
std::string describe_origin(const codec::jinja::Origin& origin);

}  // namespace fathom::api
