// Chat templates of our own for models whose file brings none: the formats by their names.
// Called by codec/chat_template. Read next: docs/templates.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fathom::codec {

// The template of "chatml", "llama3", "mistral" or "gemma"; nothing for another name.
std::optional<std::string_view> find_builtin_template(std::string_view name);

// All names, for messages and help: "chatml, llama3, ...".
std::string builtin_template_names();

}  // namespace fathom::codec
