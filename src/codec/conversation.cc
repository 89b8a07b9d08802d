// JSON in, checked JSON out.
// Called by codec/chat_template, api, apps. Source: OpenAI's chat API, "Create chat completion".
#include "codec/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace fathom::codec {

namespace {

using Json = nlohmann::ordered_json;

// Deeper than any request, shallow enough for every recursion behind it.
constexpr int kMaxLevels = 200;

[[noreturn]] void refuse(std::string_view where, std::string_view path, std::string_view what) {
  fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}: {}", where, path, what));
}

void check_levels(std::string_view json, std::string_view where) {
  int level = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      i += c == '\\' ? 1 : 0;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++level > kMaxLevels) {
        refuse(where, fmt::format("byte {}", i), fmt::format("more than {} levels", kMaxLevels));
      }
    } else if (c == ']' || c == '}') {
      --level;
    }
  }
}

Json parse(std::string_view json, std::string_view where) {
  check_levels(json, where);
  try {
    return Json::parse(json);
  } catch (const Json::parse_error& error) {
    refuse(where, fmt::format("byte {}", error.byte), "is not JSON");
  }
}

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void check_message(const Json& message, size_t index, std::string_view where) {
  const std::string path = fmt::format("messages[{}]", index);
  if (!message.is_object()) {
    refuse(where, path, fmt::format("found {}, expected an object", message.type_name()));
  }
  const auto role = message.find("role");
  if (role == message.end() || !role->is_string()) {
    refuse(where, path + ".role",
           fmt::format("found {}, expected a text such as \"user\"",
                       role == message.end() ? "nothing" : role->type_name()));
  }
  const auto content = message.find("content");
  if (content == message.end() || content->is_string() || content->is_null()) {
    return;
  }
  if (!content->is_array()) {
    refuse(where, path + ".content",
           fmt::format("found {}, expected a text or a list of parts", content->type_name()));
  }
  for (size_t i = 0; i < content->size(); ++i) {
    if (!content->at(i).is_object()) {
      refuse(where, fmt::format("{}.content[{}]", path, i),
             fmt::format("found {}, expected an object such as {{\"type\": \"text\", "
                         "\"text\": \"...\"}}",
                         content->at(i).type_name()));
    }
  }
}

// Whether any message's content is a list (or, with `as_list` false, a text).
bool has_content(const Json& messages, bool as_list) {
  return std::any_of(messages.begin(), messages.end(), [&](const Json& message) {
    const auto content = message.find("content");
    return content != message.end() && (as_list ? content->is_array() : content->is_string());
  });
}

void set_messages(const Json& messages, Conversation& conversation) {
  conversation.messages = dump(messages);
  conversation.n_messages = static_cast<int64_t>(messages.size());
  conversation.has_texts = has_content(messages, false);
  conversation.has_parts = has_content(messages, true);
}

void read_messages(const Json& messages, std::string_view where, Conversation& conversation) {
  if (!messages.is_array() || messages.empty()) {
    refuse(where, "messages",
           messages.is_array() ? "the list is empty; a chat needs at least one message"
                               : fmt::format("found {}, expected a list", messages.type_name()));
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    check_message(messages[i], i, where);
  }
  set_messages(messages, conversation);
}

// A member that is a list or null; absent counts as null.
std::string read_list(const Json& request, const char* key, std::string_view where) {
  const auto found = request.find(key);
  if (found == request.end() || found->is_null()) {
    return "null";
  }
  if (!found->is_array()) {
    refuse(where, key, fmt::format("found {}, expected a list", found->type_name()));
  }
  return dump(*found);
}

bool read_flag(const Json& request, const char* key, bool other, std::string_view where) {
  const auto found = request.find(key);
  if (found == request.end() || found->is_null()) {
    return other;
  }
  if (!found->is_boolean()) {
    refuse(where, key, fmt::format("found {}, expected true or false", found->type_name()));
  }
  return found->get<bool>();
}

// The texts of a content list.
std::string join_texts(const Json& parts, size_t message) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Json& part = parts[i];
    const auto text = part.find("text");
    if (text == part.end() || !text->is_string()) {
      const auto type = part.find("type");
      fail(ErrorCode::kInvalidArgument,
           fmt::format("messages[{}].content[{}]: found a part of type {}; the chat template takes "
                       "text only",
                       message, i, type == part.end() ? Json().dump() : dump(*type)));
    }
    joined += (i == 0 ? "" : "\n") + text->get<std::string>();
  }
  return joined;
}

}  // namespace

Conversation make_conversation(std::span<const Message> messages) {
  Json list = Json::array();
  for (const Message& message : messages) {
    list.push_back({{"role", message.role}, {"content", message.content}});
  }
  Conversation conversation;
  set_messages(list, conversation);
  return conversation;
}

Conversation parse_conversation(std::string_view json, std::string_view where) {
  const Json request = parse(json, where);
  Conversation conversation;
  if (request.is_array()) {
    read_messages(request, where, conversation);
    return conversation;
  }
  if (!request.is_object() || !request.contains("messages")) {
    refuse(where, "messages",
           fmt::format("found {}, expected a list of messages, or an object with \"messages\"",
                       request.is_object() ? "nothing" : request.type_name()));
  }
  read_messages(request.at("messages"), where, conversation);
  conversation.tools = read_list(request, "tools", where);
  conversation.documents = read_list(request, "documents", where);
  const auto variables = request.find("chat_template_kwargs");
  if (variables != request.end() && !variables->is_null()) {
    conversation.variables =
        parse_template_variables(dump(*variables), fmt::format("{}: chat_template_kwargs", where));
  }
  conversation.continue_final_message = read_flag(request, "continue_final_message", false, where);
  conversation.add_generation_prompt =
      read_flag(request, "add_generation_prompt", !conversation.continue_final_message, where);
  return conversation;
}

std::string parse_template_variables(std::string_view json, std::string_view where) {
  const Json object = parse(json, where);
  if (!object.is_object()) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("{}: found {}, expected an object such as {{\"enable_thinking\": false}}",
                     where, object.type_name()));
  }
  for (const char* name :
       {"messages", "tools", "documents", "add_generation_prompt", "continue_final_message"}) {
    if (object.contains(name)) {
      refuse(where, name, "is not a variable of its own; give it beside the messages");
    }
  }
  for (const char* name : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    if (object.contains(name)) {
      refuse(where, name, "is the model's own and cannot be set");
    }
  }
  return dump(object);
}

std::string with_text_content(std::string_view messages) {
  Json list = Json::parse(messages);
  for (size_t i = 0; i < list.size(); ++i) {
    const auto content = list[i].find("content");
    if (content != list[i].end() && content->is_array()) {
      *content = join_texts(*content, i);
    }
  }
  return dump(list);
}

std::string with_part_content(std::string_view messages) {
  Json list = Json::parse(messages);
  for (Json& message : list) {
    const auto content = message.find("content");
    if (content != message.end() && content->is_string()) {
      *content = Json::array({{{"type", "text"}, {"text", *content}}});
    }
  }
  return dump(list);
}

}  // namespace fathom::codec
