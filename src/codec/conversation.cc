// JSON in, checked JSON out.
// Called by codec/chat_template, api, apps. Source: OpenAI's chat API, "Create chat completion".
#include "codec/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "codec/json_text.h"

namespace fathom::codec {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(std::string_view where, std::string_view path, std::string_view what) {
  fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}: {}", where, path, what));
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view without_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

Json parse(std::string_view json, std::string_view where) {
  const size_t deep = find_too_deep(json);
  if (deep != std::string_view::npos) {
    refuse(where, fmt::format("byte {}", deep), fmt::format("more than {} levels", kMaxJsonLevels));
  }
  try {
    return Json::parse(json);
  } catch (const Json::parse_error& error) {
    refuse(where, fmt::format("byte {}", error.byte),
           fmt::format("is not JSON: {}", reason_of(error)));
  } catch (const Json::exception& error) {
    fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", where, reason_of(error)));
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

// Members of messages that are null: many templates write "None" for them, and all know what to do
// without them.
bool has_nulls(const Json& messages) {
  return std::any_of(messages.begin(), messages.end(), [](const Json& message) {
    return std::any_of(message.begin(), message.end(),
                       [](const Json& value) { return value.is_null(); });
  });
}

Json without_nulls(const Json& messages) {
  Json list = Json::array();
  for (const Json& message : messages) {
    Json kept = Json::object();
    for (const auto& [key, value] : message.items()) {
      if (!value.is_null()) {
        kept[key] = value;
      }
    }
    list.push_back(std::move(kept));
  }
  return list;
}

// `text` is what `messages` was read from.
void set_messages(const Json& messages, std::string_view text, Conversation& conversation) {
  conversation.messages = has_nulls(messages) ? dump(without_nulls(messages)) : std::string(text);
  conversation.n_messages = static_cast<int64_t>(messages.size());
  conversation.has_texts = has_content(messages, false);
  conversation.has_parts = has_content(messages, true);
}

void read_messages(const Json& messages, std::string_view text, std::string_view where,
                   Conversation& conversation) {
  if (!messages.is_array() || messages.empty()) {
    refuse(where, "messages",
           messages.is_array() ? "the list is empty; a chat needs at least one message"
                               : fmt::format("found {}, expected a list", messages.type_name()));
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    check_message(messages[i], i, where);
  }
  set_messages(messages, text, conversation);
}

// A member of a request, as it is written; "null" when it is absent.
std::string_view raw_member(std::string_view request, std::string_view key) {
  std::string_view found = "null";
  for (const auto& [name, value] : members_of(request)) {
    if (name == key) {
      found = value;  // the last of several, as JSON readers take it
    }
  }
  return found;
}

// A member that is a list or null; absent counts as null.
std::string read_list(const Json& request, std::string_view text, const char* key,
                      std::string_view where) {
  const auto found = request.find(key);
  if (found == request.end() || found->is_null()) {
    return "null";
  }
  if (!found->is_array()) {
    refuse(where, key, fmt::format("found {}, expected a list", found->type_name()));
  }
  return std::string(raw_member(text, key));
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
  set_messages(list, dump(list), conversation);
  return conversation;
}

namespace {

// A message a line, as a saved chat has them; nothing when `text` is something else.
std::optional<std::string> read_lines(std::string_view text) {
  std::string list;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    if (find_too_deep(line) != std::string_view::npos) {
      return std::nullopt;
    }
    const Json message = Json::parse(line, nullptr, false);
    if (!message.is_object() || !message.contains("role")) {
      return std::nullopt;
    }
    list += (list.empty() ? "" : ",") + std::string(line);
  }
  return list.empty() ? std::nullopt : std::optional("[" + list + "]");
}

void read_request(const Json& request, std::string_view text, std::string_view where,
                  Conversation& conversation) {
  if (!request.is_object() || !request.contains("messages")) {
    refuse(where, "messages",
           fmt::format("found {}, expected a list of messages, or an object with \"messages\"",
                       request.is_object() ? "nothing" : request.type_name()));
  }
  read_messages(request.at("messages"), raw_member(text, "messages"), where, conversation);
  conversation.tools = read_list(request, text, "tools", where);
  conversation.documents = read_list(request, text, "documents", where);
  const std::string_view variables = raw_member(text, "chat_template_kwargs");
  if (variables != "null") {
    conversation.variables =
        parse_template_variables(variables, fmt::format("{}: chat_template_kwargs", where));
  }
  conversation.continue_final_message = read_flag(request, "continue_final_message", false, where);
  conversation.add_generation_prompt =
      read_flag(request, "add_generation_prompt", !conversation.continue_final_message, where);
  if (conversation.continue_final_message && conversation.add_generation_prompt) {
    refuse(where, "continue_final_message",
           "is true, and so is add_generation_prompt: a prompt either opens a new turn or ends "
           "inside of the last message");
  }
}

}  // namespace

Conversation parse_conversation(std::string_view text, std::string_view where) {
  const std::string_view json = without_mark(text);
  Conversation conversation;
  if (const auto lines = read_lines(json)) {
    read_messages(Json::parse(*lines), *lines, where, conversation);
    return conversation;
  }
  const Json request = parse(json, where);
  if (request.is_array()) {
    read_messages(request, json, where, conversation);
  } else {
    read_request(request, json, where, conversation);
  }
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
  return std::string(json);
}

std::string merge_template_variables(std::string_view first, std::string_view second) {
  std::string merged;
  for (const std::string_view object : {first, second}) {
    for (const auto& [key, value] : members_of(object)) {
      merged += fmt::format("{}{}:{}", merged.empty() ? "" : ",", Json(key).dump(), value);
    }
  }
  return "{" + merged + "}";
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
