// One scan over the text; strings are skipped with their escapes.
// Called by codec/conversation, codec/jsonl_protocol, codec/template_jsonl.
#include "codec/json_text.h"

#include <fmt/format.h>

#include <exception>

#include "base/error.h"
#include "codec/json_scanner.h"

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
  JsonScanner scanner(json, "JSON");
  scanner.read_object([&](std::string_view key) {
    std::string name(key);
    members.emplace_back(std::move(name), scanner.read_raw());
  });
  return members;
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
