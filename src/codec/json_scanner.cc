// Bytes are looked at once; within texts eight at a time.
// Called by codec/tokenizer_json. Read next: codec/tokenizer_json.cc.
#include "codec/json_scanner.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <charconv>
#include <utility>

#include "base/error.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

JsonScanner::JsonScanner(std::string_view text, std::string path, ErrorCode code)
    : text_(text), path_(std::move(path)), code_(code) {
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    fail(code_, fmt::format("{}: JSON is broken: the file is not valid UTF-8", path_));
  }
}

void JsonScanner::refuse(std::string_view expected) const {
  // Whole characters only: fmt's quoting takes no others.
  std::string_view found = text_.substr(std::min(at_, text_.size()), 20);
  found.remove_suffix(open_end_bytes(found));
  fail(code_, fmt::format("{}: JSON is broken or of another shape than expected: byte {}: found "
                          "{}, expected {}",
                          path_, at_,
                          found.empty() ? "the end of the file"
                                        : fmt::format("{:?}", replace_invalid_utf8(found)),
                          expected));
}

void JsonScanner::refuse_missing(char c) const {
  refuse(fmt::format("'{}'", c));
}

void JsonScanner::refuse_depth() const {
  refuse(fmt::format("at most {} levels", kMostLevels));
}

JsonScanner::Type JsonScanner::peek() {
  skip_space();
  switch (current()) {
    case '{':
      return Type::kObject;
    case '[':
      return Type::kList;
    case '"':
      return Type::kText;
    case 't':
    case 'f':
      return Type::kBool;
    case 'n':
      return Type::kNull;
    default:
      break;
  }
  if (current() != '-' && !is_digit(current())) {
    refuse("a value");
  }
  return Type::kNumber;
}

bool JsonScanner::skip_word(std::string_view word) {
  const bool is_there = text_.substr(at_, word.size()) == word;
  at_ += is_there ? word.size() : 0;
  return is_there;
}

bool JsonScanner::skip_null() {
  skip_space();
  return skip_word("null");
}

bool JsonScanner::read_bool() {
  skip_space();
  if (skip_word("true")) {
    return true;
  }
  if (!skip_word("false")) {
    refuse("true or false");
  }
  return false;
}

void JsonScanner::skip_digits() {
  if (!is_digit(current())) {
    refuse("a digit");
  }
  while (is_digit(current())) {
    ++at_;
  }
}

std::string_view JsonScanner::find_number() {
  skip_space();
  const size_t begin = at_;
  if (current() != '-' && !is_digit(current())) {
    refuse("a number");
  }
  at_ += current() == '-' ? 1 : 0;
  if (current() == '0') {
    ++at_;
  } else {
    skip_digits();
  }
  if (current() == '.') {
    ++at_;
    skip_digits();
  }
  if (current() == 'e' || current() == 'E') {
    ++at_;
    at_ += current() == '+' || current() == '-' ? 1 : 0;
    skip_digits();
  }
  return text_.substr(begin, at_ - begin);
}

int64_t JsonScanner::read_integer() {
  const std::string_view digits = find_number();
  int64_t value = 0;
  const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || last != digits.data() + digits.size()) {
    at_ -= digits.size();
    refuse("a whole number of 64 bits");
  }
  return value;
}

double JsonScanner::read_number() {
  const std::string_view digits = find_number();
  double value = 0;
  const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || last != digits.data() + digits.size()) {
    at_ -= digits.size();
    refuse("a number of 64 bits");
  }
  return value;
}

// A text that begins at `begin`, of which the bytes before the cursor need no change.
std::string_view JsonScanner::read_escaped(size_t begin) {
  std::string& out = unescaped_.emplace_back(text_.substr(begin, at_ - begin));
  while (current() != '"') {
    if (current() != '\\') {
      refuse("a text without control characters and its closing quote");
    }
    ++at_;
    append_escape(out);
    const size_t end = find_special(text_, at_);
    out.append(text_, at_, end - at_);
    at_ = end;
  }
  ++at_;
  return out;
}

char32_t JsonScanner::read_hex() {
  const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
  uint32_t value = 0;
  const auto [last, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() < 4 || error != std::errc() || last != digits.data() + 4) {
    refuse("four hexadecimal digits");
  }
  at_ += 4;
  return value;
}

void JsonScanner::append_escape(std::string& out) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  const size_t place = current() == '\0' ? std::string_view::npos : kLetters.find(current());
  if (place != std::string_view::npos) {
    out += kMeant[place];
    ++at_;
    return;
  }
  if (current() != 'u') {
    refuse("an escape sequence of JSON");
  }
  ++at_;
  char32_t c = read_hex();
  if (c >= 0xD800 && c <= 0xDBFF && skip_word("\\u")) {
    const char32_t low = read_hex();
    c = low >= 0xDC00 && low <= 0xDFFF ? 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00) : c;
  }
  if (c >= 0xD800 && c <= 0xDFFF) {
    refuse("both halves of a surrogate pair before this");
  }
  append_utf8(out, c);
}

std::string_view JsonScanner::read_raw() {
  const Type type = peek();
  const size_t begin = at_;
  switch (type) {
    case Type::kNull:
      if (!skip_null()) {
        refuse("null");
      }
      break;
    case Type::kBool:
      read_bool();
      break;
    case Type::kNumber:
      find_number();
      break;
    case Type::kText:
      read_text();
      break;
    case Type::kList:
      read_list([&] { read_raw(); });
      break;
    case Type::kObject:
      read_object([&](std::string_view) { read_raw(); });
      break;
  }
  return text_.substr(begin, at_ - begin);
}

void JsonScanner::finish() {
  skip_space();
  if (at_ < text_.size()) {
    refuse("the end of the file");
  }
}

}  // namespace fathom::codec
