// Bytes are looked at once; within texts eight at a time.
// Called by codec/tokenizer_json. Read next: codec/tokenizer_json.cc.
#include "codec/json_scanner.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

constexpr int kMostLevels = 1000;
constexpr uint64_t kOnes = 0x0101010101010101u;
constexpr uint64_t kHighs = 0x8080808080808080u;

// The high bit of each byte that is zero; of the lowest such byte it is exact.
constexpr uint64_t zero_bytes(uint64_t word) {
  return (word - kOnes) & ~word & kHighs;
}

// Where the part of a text that holds no quote, backslash or control character ends.
size_t find_special(std::string_view text, size_t at) {
  if constexpr (std::endian::native == std::endian::little) {
    for (; at + 8 <= text.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + at, 8);
      const uint64_t is_control = (word - kOnes * 0x20) & ~word & kHighs;
      const uint64_t found =
          zero_bytes(word ^ (kOnes * '"')) | zero_bytes(word ^ (kOnes * '\\')) | is_control;
      if (found != 0) {
        return at + static_cast<size_t>(std::countr_zero(found)) / 8;
      }
    }
  }
  while (at < text.size() && text[at] != '"' && text[at] != '\\' &&
         static_cast<unsigned char>(text[at]) >= 0x20) {
    ++at;
  }
  return at;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

JsonScanner::JsonScanner(std::string_view text, std::string path)
    : text_(text), path_(std::move(path)) {
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: JSON is broken: the file is not valid UTF-8", path_));
  }
}

void JsonScanner::refuse(std::string_view expected) const {
  // Whole characters only: fmt's quoting takes no others.
  std::string_view found = text_.substr(std::min(at_, text_.size()), 20);
  found.remove_suffix(open_end_bytes(found));
  fail(ErrorCode::kCorruptFile,
       fmt::format(
           "{}: JSON is broken or of another shape than a tokenizer.json: byte {}: found "
           "{}, expected {}",
           path_, at_,
           found.empty() ? "the end of the file" : fmt::format("{:?}", replace_invalid_utf8(found)),
           expected));
}

void JsonScanner::skip_space() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
    ++at_;
  }
}

void JsonScanner::expect(char c) {
  skip_space();
  if (current() != c) {
    refuse(fmt::format("'{}'", c));
  }
  ++at_;
}

void JsonScanner::open(char c, std::string_view what) {
  skip_space();
  if (current() != c) {
    refuse(what);
  }
  ++at_;
  if (++depth_ > kMostLevels) {
    refuse(fmt::format("at most {} levels", kMostLevels));
  }
}

// Steps to the next member or item; false when `close` ends them.
bool JsonScanner::find_next(char close, bool is_first) {
  skip_space();
  if (current() == close) {
    ++at_;
    --depth_;
    return false;
  }
  if (!is_first) {
    expect(',');
  }
  return true;
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

std::string_view JsonScanner::read_text() {
  skip_space();
  if (current() != '"') {
    refuse("a text");
  }
  const size_t begin = ++at_;
  at_ = find_special(text_, at_);
  if (current() != '"') {
    return read_escaped(begin);
  }
  return text_.substr(begin, at_++ - begin);
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
