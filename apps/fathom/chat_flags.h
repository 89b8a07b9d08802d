// How messages become a prompt: the template, its variables, the conversation.
// Called by prompt.cc, chat_loop.cc, template.cc, inspect_prompt.cc. Read next:
// codec/chat_template.h.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "codec/chat_template.h"
#include "codec/conversation.h"
#include "command_line.h"

namespace fathom::app {

struct ChatFlags {
  std::string chat_template;             // FILE or NAME; empty: the model's own
  std::optional<std::string> variables;  // JSON object
  std::optional<std::string> system;     // as given: TEXT or @FILE; "" is a message without words
  std::string messages_file;
  bool continue_final_message = false;
};

// The options that were added, for what cannot go with them.
struct ChatOptions {
  Option* system;
  Option* chat_template;
  Option* variables;
  Option* messages;
  Option* continues;
};

// --system --messages --chat-template --chat-template-kwargs --continue-final-message
ChatOptions add_chat_flags(CommandLine& app, ChatFlags& flags);

// --chat-template alone.
Option* add_chat_template_flag(CommandLine& app, ChatFlags& flags);

// The template that the flags choose. Errors: those of codec::ChatTemplate, of reading the file.
codec::ChatTemplate load_chat_template(const ChatFlags& flags, const codec::Vocabulary& vocabulary);

// The system message; nothing when none was given.
std::optional<std::string> read_system(const ChatFlags& flags);

// The messages so far with the flags' settings; what a chat renders in every turn.
codec::Conversation make_conversation(const ChatFlags& flags,
                                      std::span<const codec::Message> messages);

// The conversation of --messages, else a system message and one of the user. Errors: UsageError
// (--continue-final-message with a message of the user), those of codec::parse_conversation.
codec::Conversation read_conversation(const ChatFlags& flags, const std::string& user_text);

// A file that is JSON, by its name or its text, is a conversation; any other is one message of the
// user, without one line end at its end.
codec::Conversation guess_conversation(const ChatFlags& flags, const std::string& path);

}  // namespace fathom::app
