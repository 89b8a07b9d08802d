// One scan over the text; strings are skipped with their escapes.
// Called by codec/conversation, codec/jsonl_protocol, codec/template_jsonl.
#include "codec/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace fathom::codec {

namespace {

// The byte behind the string whose opening quote is at `at`; the text's end if it has none.
size_t skip_string(std::string_view json, size_t at) {
  for (size_t i = at + 1; i < json.size(); ++i) {
    if (json[i] == '\\') {
      ++i;
    } else if (json[i] == '"') {
      return i + 1;
    }
  }
  return json.size();
}

size_t skip_blanks(std::string_view json, size_t at) {
  return std::min(json.find_first_not_of(" \t\r\n", at), json.size());
}

// The byte behind the value that begins at `at`.
size_t skip_value(std::string_view json, size_t at) {
  int level = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = skip_string(json, at);
    } else if (c == '[' || c == '{') {
      ++level;
      ++at;
    } else if (c == ']' || c == '}') {
      if (level == 0) {
        return at;
      }
      --level;
      ++at;
    } else if (level == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
      return at;
    } else {
      ++at;
    }
    if (level == 0 && (c == '"' || c == ']' || c == '}')) {
      return at;
    }
  }
  return at;
}

}  // namespace

size_t find_too_deep(std::string_view json) {
  int level = 0;
  for (size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"') {
      at = skip_string(json, at) - 1;
    } else if (c == '[' || c == '{') {
      if (++level > kMaxJsonLevels) {
        return at;
      }
    } else if (c == ']' || c == '}') {
      --level;
    }
  }
  return std::string_view::npos;
}

void require_shallow(std::string_view json) {
  const size_t deep = find_too_deep(json);
  if (deep != std::string_view::npos) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("byte {}: more than {} levels", deep, kMaxJsonLevels));
  }
}

std::vector<std::pair<std::string, std::string_view>> members_of(std::string_view json) {
  std::vector<std::pair<std::string, std::string_view>> members;
  size_t at = skip_blanks(json, 0) + 1;  // behind the brace
  while (true) {
    at = skip_blanks(json, at);
    if (at >= json.size() || json[at] == '}') {
      return members;
    }
    const size_t key_end = skip_string(json, at);
    std::string key = nlohmann::json::parse(json.substr(at, key_end - at)).get<std::string>();
    at = skip_blanks(json, skip_blanks(json, key_end) + 1);  // behind the colon
    const size_t end = skip_value(json, at);
    members.emplace_back(std::move(key), json.substr(at, end - at));
    at = skip_blanks(json, end);
    at += at < json.size() && json[at] == ',' ? 1 : 0;
  }
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
std::string reason_of(const std::exception& error) {
  std::string_view text = error.what();
  if (text.starts_with("[json.exception.")) {
    const size_t end = text.find("] ");
    text.remove_prefix(end == std::string_view::npos ? 0 : end + 2);
  }
  if (text.starts_with("parse error")) {
    const size_t end = text.find(": ");
    text.remove_prefix(end == std::string_view::npos ? 0 : end + 2);
  }
  return std::string(text);
}

}  // namespace fathom::codec
