// What a chat request says, before a template makes a prompt of it.
// Called by api and apps. Read next: codec/chat_template.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fathom::codec {

struct Message {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

// JSON values as chat APIs write them, without members of messages that are null; a template sees
// their keys in this order. Valid UTF-8.
struct Conversation {
  std::string messages = "[]";     // [{"role": ..., "content": text or [{"type": "text", ...}]}]
  std::string tools = "null";      // null, or a list of tool descriptions
  std::string documents = "null";  // null, or a list
  std::string variables = "{}";    // further variables of the template: {"enable_thinking": false}
  bool add_generation_prompt = true;    // open the assistant's turn at the end
  bool continue_final_message = false;  // end inside of the last message, for the model to go on
  // What is in `messages`.
  int64_t n_messages = 0;
  bool has_texts = false;  // a content that is a text
  bool has_parts = false;  // a content that is a list

  [[nodiscard]] bool has_tools() const { return tools != "null" && tools != "[]"; }
};

Conversation make_conversation(std::span<const Message> messages);

// A file's text: a list of messages, one message a line, or an object with "messages" and maybe
// "tools", "documents", "chat_template_kwargs", "add_generation_prompt", "continue_final_message";
// other members of a chat request ("model", "temperature") are left alone. `where` names the text
// in messages. Error: kInvalidArgument (no JSON, with the byte; no messages; a message that is no
// object or has no role; a wrong type), each with the path of the value.
Conversation parse_conversation(std::string_view json, std::string_view where);

// A JSON object for Conversation::variables. Error: kInvalidArgument, naming `where`.
std::string parse_template_variables(std::string_view json, std::string_view where);

// Both objects as one; what both have is as in the second.
std::string merge_template_variables(std::string_view first, std::string_view second);

// The same messages with contents of one form only, for templates that know no other: lists of text
// parts as one text, joined by line ends; or texts as a list of one part. Error: kInvalidArgument
// for a part that is no text.
std::string with_text_content(std::string_view messages);
std::string with_part_content(std::string_view messages);

}  // namespace fathom::codec
