// Types and ranges, each with the place of the value in the error.
// Called by api/openai/body. Read next: api/openai/fields.cc.
#include "api/openai/field_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "api/openai/errors.h"
#include "codec/utf8.h"

namespace fathom::api::openai {

namespace {

using Json = nlohmann::json;

constexpr size_t kShownBytes = 60;
constexpr double kMostId = std::numeric_limits<int32_t>::max();

}  // namespace

void refuse(std::string_view param, const std::string& message) {
  throw RequestError(Cause::kBadRequest, message, std::string(param));
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShownBytes) {
    text.resize(kShownBytes);
    text.resize(text.size() - codec::open_end_bytes(text));
    text += "...";
  }
  return text;
}

std::optional<int32_t> parse_id(std::string_view text) {
  int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0) {
    return std::nullopt;
  }
  return id;
}

namespace {

[[noreturn]] void refuse_value(const Field& field, const Json& value, std::string_view place = {}) {
  refuse(field.name, fmt::format("{}{}: found {}, expected {}", field.name, place, shown(value),
                                 describe_type(field)));
}

bool is_integer_in(const Json& value, double low, double high) {
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return false;
  }
  return value.is_number_integer() && static_cast<double>(value.get<int64_t>()) >= low &&
         static_cast<double>(value.get<int64_t>()) <= high;
}

bool is_number_in(const Json& value, double low, double high) {
  return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= low &&
         value.get<double>() <= high;
}

bool is_id(const Json& value) {
  return is_integer_in(value, 0, kMostId);
}

void check_texts(const Field& field, const Json& value) {
  const auto check_one = [&](const Json& text, const std::string& place) {
    if (!text.is_string()) {
      refuse_value(field, text, place);
    }
    const size_t size = text.get_ref<const std::string&>().size();
    if (size == 0 || size > kMaxTextBytes) {
      refuse(field.name, fmt::format("{}{} has {} bytes, expected 1 to {}", field.name, place, size,
                                     kMaxTextBytes));
    }
  };
  if (!value.is_array()) {
    check_one(value, "");
    return;
  }
  if (static_cast<double>(value.size()) > field.high) {
    refuse(field.name, fmt::format("{} has {} texts, expected {} at most", field.name, value.size(),
                                   field.high));
  }
  for (size_t i = 0; i < value.size(); ++i) {
    check_one(value[i], fmt::format("[{}]", i));
  }
}

void check_ids(const Field& field, const Json& value) {
  const auto size = static_cast<double>(value.size());
  if (!value.is_array() || size < field.low || size > field.high) {
    refuse_value(field, value);
  }
  for (size_t i = 0; i < value.size(); ++i) {
    if (!is_id(value[i])) {
      refuse_value(field, value[i], fmt::format("[{}]", i));
    }
  }
}

void check_bias(const Field& field, const Json& value) {
  if (!value.is_object() && !value.is_array()) {
    refuse_value(field, value);
  }
  std::set<int32_t> seen;
  for (const auto& [key, entry] : value.items()) {
    const std::string place = fmt::format("[{}]", key);
    const bool is_pair = value.is_object() || (entry.is_array() && entry.size() == 2);
    const Json& number = value.is_object() || !is_pair ? entry : entry[1];
    std::optional<int32_t> id;
    if (value.is_object()) {
      id = parse_id(key);
    } else if (is_pair && is_id(entry[0])) {
      id = entry[0].get<int32_t>();
    }
    if (!is_pair || !id || !is_number_in(number, field.low, field.high)) {
      refuse_value(field, entry, place);
    }
    if (!seen.insert(*id).second) {
      refuse(field.name, fmt::format("{}{}: token id {} stands twice", field.name, place, *id));
    }
  }
}

bool is_ids(const Json& value) {
  return value.is_array() && !value.empty() && std::ranges::all_of(value, is_id);
}

void check_prompt(const Field& field, const Json& value) {
  if (value.is_string() || is_ids(value)) {
    return;
  }
  if (!value.is_array() || value.empty()) {
    refuse_value(field, value);
  }
  if (value.front().is_number()) {  // a list of ids with something else in it
    for (size_t i = 0; i < value.size(); ++i) {
      if (!is_id(value[i])) {
        refuse_value(field, value[i], fmt::format("[{}]", i));
      }
    }
  }
  if (static_cast<double>(value.size()) > field.high) {
    refuse(field.name, fmt::format("{} has {} prompts, expected {} at most", field.name,
                                   value.size(), field.high));
  }
  for (size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_string() && !is_ids(value[i])) {
      refuse_value(field, value[i], fmt::format("[{}]", i));
    }
  }
}

// Content of a message: a text, or parts of type text; of roles other than assistant not null.
void check_content(const std::string& place, const std::string& role, const Json* content) {
  if (content == nullptr || content->is_null()) {
    if (role != "assistant") {
      refuse("messages", fmt::format("{}.content: found {}, expected a text or a list of parts",
                                     place, content == nullptr ? "nothing" : "null"));
    }
    return;
  }
  if (content->is_string()) {
    return;
  }
  if (!content->is_array()) {
    refuse("messages", fmt::format("{}.content: found {}, expected a text or a list of parts",
                                   place, shown(*content)));
  }
  for (size_t i = 0; i < content->size(); ++i) {
    const Json& part = content->at(i);
    const bool is_text = part.is_object() && part.value("type", Json()) == "text" &&
                         part.value("text", Json()).is_string();
    if (!is_text) {
      refuse("messages", fmt::format("{}.content[{}]: found {}, expected {{\"type\": \"text\", "
                                     "\"text\": \"...\"}}; the server takes text only",
                                     place, i, shown(part)));
    }
  }
}

void check_messages(const Field& field, const Json& value) {
  constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool"};
  const auto size = static_cast<double>(value.size());
  if (!value.is_array() || size < field.low || size > field.high) {
    refuse_value(field, value);
  }
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string place = fmt::format("messages[{}]", i);
    if (!value[i].is_object()) {
      refuse(field.name, fmt::format("{}: found {}, expected an object", place, shown(value[i])));
    }
    const auto role = value[i].find("role");
    if (role == value[i].end() || !role->is_string() ||
        std::ranges::find(kRoles, role->get_ref<const std::string&>()) == std::end(kRoles)) {
      refuse(field.name,
             fmt::format("{}.role: found {}, expected one of system, developer, user, assistant, "
                         "tool",
                         place, role == value[i].end() ? "nothing" : shown(*role)));
    }
    const auto content = value[i].find("content");
    check_content(place, role->get<std::string>(), content == value[i].end() ? nullptr : &*content);
  }
}

}  // namespace

void check_value(const Field& field, const Json& value) {
  bool is_good = true;
  switch (field.type) {
    case FieldType::kBool:
      is_good = value.is_boolean();
      break;
    case FieldType::kInteger:
      is_good = is_integer_in(value, field.low, field.high);
      break;
    case FieldType::kNumber:
      is_good = is_number_in(value, field.low, field.high);
      break;
    case FieldType::kText: {
      const auto* text = value.get_ptr<const std::string*>();
      is_good = text != nullptr && static_cast<double>(text->size()) >= field.low &&
                static_cast<double>(text->size()) <= field.high;
      break;
    }
    case FieldType::kList:
      is_good = value.is_array();
      break;
    case FieldType::kObject:
      is_good = value.is_object();
      break;
    case FieldType::kTexts:
      return check_texts(field, value);
    case FieldType::kIds:
      return check_ids(field, value);
    case FieldType::kBias:
      return check_bias(field, value);
    case FieldType::kPrompt:
      return check_prompt(field, value);
    case FieldType::kMessages:
      return check_messages(field, value);
    case FieldType::kAny:
      break;
  }
  if (!is_good) {
    refuse_value(field, value);
  }
}

}  // namespace fathom::api::openai
