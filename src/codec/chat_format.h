// Messages to prompt ids for the four common chat formats, picked by the marker tokens in the
// file's template. Replaced by the template engine later.
// Called by api/generator. Read next: codec/tokenizer.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/tokenizer.h"

namespace fathom::codec {

enum class ChatFormat { kChatMl, kLlama3, kMistral, kGemma };

// "chatml", "llama3", "mistral", "gemma"
std::string_view name_of(ChatFormat format);

// All names, for messages and help: "chatml, llama3, ...".
std::string chat_format_names();

// The inverse of name_of; nothing for another name.
std::optional<ChatFormat> find_chat_format(std::string_view name);

// By the markers in the vocabulary's chat template. Error: kUnsupported when there is no template
// or none of the four fits; the message names --raw and --chat-format.
ChatFormat detect_chat_format(const Vocabulary& vocabulary);

struct Message {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

// Prompt ids with the opening of the assistant's turn at the end, and exactly one BOS where the
// format has one. Text of messages is encoded as plain text: control tokens written there stay
// text, and so do user-defined ones that the file's template writes ("</think>"). ChatML without a
// system message gets the default one of the file's template, if any. Error: kInvalidArgument
// (unknown role, roles that the format cannot hold).
std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, ChatFormat format,
                                 std::span<const Message> messages);

}  // namespace fathom::codec
