// fathom inspect --prompt: a prompt token by token, with origins and warnings.
// Called by inspect.cc. Read next: api/prompt_view.h.
#pragma once

#include <string>
#include <vector>

#include "chat_flags.h"

namespace fathom::app {

// `file`: a conversation in JSON, or a message of the user as plain text. Returns the exit status.
// Errors: those of open_vocabulary, load_chat_template, api::view_prompt.
int inspect_prompt(const std::string& model, const std::vector<std::string>& overrides,
                   const std::string& file, const ChatFlags& chat, bool as_json);

}  // namespace fathom::app
