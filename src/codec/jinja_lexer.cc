// One pass over the source; each kind of tag ends where jinja2's rules say.
#include "codec/jinja_lexer.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "codec/jinja_text.h"
#include "codec/jinja_unicode.h"
#include "codec/utf8.h"

namespace fathom::codec::jinja {

namespace {

constexpr size_t kMaxTokens = 4'000'000;

constexpr std::array<std::string_view, 26> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

std::string normalize(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      i += i + 1 < source.size() && source[i + 1] == '\n' ? 1 : 0;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') {
    out.pop_back();
  }
  return out;
}

bool is_digit_char(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  explicit Lexer(TokenList& list) : list_(list), source_(list.texts.front()) {}

  void run() {
    while (at_ < source_.size()) {
      read_text();
    }
    add(TokenKind::kEnd, {});
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("chat template, line {}: {}; correct the template", line_, what));
  }

  [[nodiscard]] std::string_view rest() const { return source_.substr(at_); }

  [[nodiscard]] bool starts(std::string_view what, size_t offset = 0) const {
    return source_.size() >= at_ + offset && source_.substr(at_ + offset).starts_with(what);
  }

  void advance(size_t n) {
    for (const char c : source_.substr(at_, n)) {
      line_ += c == '\n' ? 1 : 0;
    }
    at_ += n;
    line_starting_ = at_ > 0 && source_[at_ - 1] == '\n';
  }

  void add(TokenKind kind, std::string_view text) {
    if (list_.tokens.size() >= kMaxTokens) {
      fail(ErrorCode::kResourceExhausted,
           fmt::format("chat template, line {}: more than {} tokens", line_, kMaxTokens));
    }
    list_.tokens.push_back({kind, line_, text});
  }

  size_t space_from(size_t at) const { return skip_space(source_, at, source_.size()); }

  // Bytes of "-%}" with the white space after it, "+%}", or "%}" with one line end; 0: none here.
  [[nodiscard]] size_t end_of_tag(std::string_view close, size_t at) const {
    const std::string_view here = source_.substr(std::min(at, source_.size()));
    if (here.starts_with('-') && here.substr(1).starts_with(close)) {
      return space_from(at + 1 + close.size()) - at;
    }
    if (here.starts_with('+') && here.substr(1).starts_with(close) && close != "}}") {
      return 1 + close.size();
    }
    if (here.starts_with(close)) {
      const bool trims = close != "}}" && here.substr(close.size()).starts_with('\n');
      return close.size() + (trims ? 1 : 0);
    }
    return 0;
  }

  // The text before a tag, cut as the tag's sign says.
  void add_text(std::string_view text, char sign, bool is_variable) {
    if (sign == '-') {
      text = text.substr(0, skip_space_back(text, 0, text.size()));
    } else if (sign != '+' && !is_variable) {
      const size_t line_begin = text.rfind('\n') + 1;  // npos + 1 = 0
      if ((line_begin > 0 || line_starting_) &&
          skip_space(text, line_begin, text.size()) == text.size()) {
        text = text.substr(0, line_begin);
      }
    }
    if (!text.empty()) {
      add(TokenKind::kText, text);
    }
  }

  static char sign_at(std::string_view text, size_t at) {
    return at < text.size() && (text[at] == '-' || text[at] == '+') ? text[at] : ' ';
  }

  // If a raw block begins at `at`: bytes of its opening tag, and 0 otherwise.
  [[nodiscard]] size_t raw_begin(size_t at) const {
    size_t i = at + 2;
    i += sign_at(source_, i) != ' ' ? 1 : 0;
    i = space_from(i);
    if (!source_.substr(i).starts_with("raw")) {
      return 0;
    }
    i = space_from(i + 3);
    if (source_.substr(i).starts_with("-%}")) {
      return space_from(i + 3) - at;
    }
    return source_.substr(i).starts_with("%}") ? i + 2 - at : 0;
  }

  void read_text() {
    size_t tag = at_;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == std::string_view::npos || tag + 1 >= source_.size()) {
        add(TokenKind::kText, rest());
        advance(source_.size() - at_);
        return;
      }
      const char next = source_[tag + 1];
      if (next == '%' || next == '{' || next == '#') {
        break;
      }
      ++tag;
    }
    const char sign = sign_at(source_, tag + 2);
    const char kind = source_[tag + 1];
    add_text(source_.substr(at_, tag - at_), sign, kind == '{');
    advance(tag - at_);
    if (kind == '#') {
      advance(sign == ' ' ? 2 : 3);
      read_comment();
    } else if (const size_t raw = kind == '%' ? raw_begin(tag) : 0; raw > 0) {
      advance(raw);
      read_raw();
    } else {
      add(kind == '{' ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, source_.substr(tag, 2));
      advance(sign == ' ' ? 2 : 3);
      read_tag(kind == '{');
    }
  }

  void read_comment() {
    const size_t close = source_.find("#}", at_);
    if (close == std::string_view::npos && at_ == source_.size()) {
      return;  // nothing follows it: jinja2 lets that pass
    }
    if (close == std::string_view::npos) {
      refuse("a comment without its end '#}'");
    }
    const bool has_sign = close > at_ && sign_at(source_, close - 1) != ' ';
    const size_t end = close - (has_sign ? 1 : 0);
    advance(end + end_of_tag("#}", end) - at_);
  }

  void read_raw() {
    for (size_t tag = source_.find("{%", at_); tag != std::string_view::npos;
         tag = source_.find("{%", tag + 1)) {
      const char sign = sign_at(source_, tag + 2);
      const size_t name = space_from(tag + (sign == ' ' ? 2 : 3));
      if (!source_.substr(name).starts_with("endraw")) {
        continue;
      }
      const size_t close = space_from(name + 6);
      if (const size_t size = end_of_tag("%}", close); size > 0) {
        add_text(source_.substr(at_, tag - at_), sign, false);
        advance(close + size - at_);
        return;
      }
    }
    if (at_ < source_.size()) {
      refuse("a raw block without its end '{% endraw %}'");
    }
  }

  void read_tag(bool is_variable) {
    const std::string_view close = is_variable ? "}}" : "%}";
    std::string open;  // brackets that wait for their partners
    while (true) {
      const size_t end = open.empty() ? end_of_tag(close, at_) : 0;
      if (end > 0) {
        add(is_variable ? TokenKind::kVariableEnd : TokenKind::kBlockEnd, close);
        advance(end);
        return;
      }
      if (at_ >= source_.size()) {
        // jinja2 lets the parser find this out; the error is the same.
        refuse(fmt::format("a tag without its end '{}'", close));
      }
      if (const size_t after = space_from(at_); after > at_) {
        advance(after - at_);
      } else if (!read_number() && !read_name() && !read_string()) {
        read_operator(open);
      }
    }
  }

  // Digits with single '_' between them, from `at`; returns where they end, `at` for none.
  size_t digits_from(size_t at, auto is_one) const {
    while (at < source_.size() && is_one(source_[at])) {
      ++at;
      if (at + 1 < source_.size() && source_[at] == '_' && is_one(source_[at + 1])) {
        ++at;
      }
    }
    return at;
  }

  bool read_number() {
    if (!is_digit_char(source_[at_])) {
      return false;
    }
    const auto size_of_float = [&]() -> size_t {
      if (at_ > 0 && source_[at_ - 1] == '.') {
        return 0;
      }
      const size_t whole = digits_from(at_, is_digit_char);
      size_t end = whole;
      if (end + 1 < source_.size() && source_[end] == '.' && is_digit_char(source_[end + 1])) {
        end = digits_from(end + 1, is_digit_char);
      }
      if (end < source_.size() && (source_[end] | 0x20) == 'e') {
        size_t exponent = end + 1;
        exponent += sign_at(source_, exponent) != ' ' ? 1 : 0;
        if (exponent < source_.size() && is_digit_char(source_[exponent])) {
          end = digits_from(exponent, is_digit_char);
        }
      }
      return end == whole ? 0 : end - at_;
    };
    size_t size = size_of_float();
    const TokenKind kind = size > 0 ? TokenKind::kFloat : TokenKind::kInteger;
    if (size == 0) {
      size = size_of_integer();
    }
    add(kind, source_.substr(at_, size));
    advance(size);
    return true;
  }

  size_t size_of_integer() const {
    if (source_[at_] == '0' && at_ + 2 < source_.size()) {
      const char base = static_cast<char>(source_[at_ + 1] | 0x20);
      const auto is_one = [base](char c) {
        const char low = static_cast<char>(c | 0x20);
        return base == 'x'   ? is_digit_char(c) || (low >= 'a' && low <= 'f')
               : base == 'o' ? c >= '0' && c <= '7'
                             : c == '0' || c == '1';
      };
      const size_t first = at_ + 2 + (source_[at_ + 2] == '_' ? 1 : 0);
      if (base == 'x' || base == 'o' || base == 'b') {
        if (const size_t end = digits_from(first, is_one); end > first) {
          return end - at_;
        }
      }
    }
    if (source_[at_] == '0') {
      return digits_from(at_, [](char c) { return c == '0'; }) - at_;
    }
    return digits_from(at_, is_digit_char) - at_;
  }

  bool read_name() {
    size_t end = at_;
    while (end < source_.size() && is_word(char_at(source_, end))) {
      end += char_size(source_, end);
    }
    if (end == at_) {
      return false;
    }
    if (!is_identifier_start(char_at(source_, at_))) {
      refuse("Invalid character in identifier");
    }
    add(TokenKind::kName, source_.substr(at_, end - at_));
    advance(end - at_);
    return true;
  }

  bool read_string() {
    const char quote = source_[at_];
    if (quote != '\'' && quote != '"') {
      return false;
    }
    bool has_escape = false;
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) {
      has_escape = has_escape || source_[end] == '\\';
      end += source_[end] == '\\' ? 2 : 1;
    }
    if (end >= source_.size()) {
      refuse(fmt::format("unexpected char {} (a string without its end)", quote));
    }
    const std::string_view inside = source_.substr(at_ + 1, end - at_ - 1);
    if (has_escape) {
      add(TokenKind::kString, list_.texts.emplace_back(unescape(inside)));
    } else {
      add(TokenKind::kString, inside);
    }
    advance(end + 1 - at_);
    return true;
  }

  // Hexadecimal digits of \x, \u or \U.
  char32_t read_hex(std::string_view text, size_t at, size_t n_digits) const {
    char32_t c = 0;
    for (size_t i = 0; i < n_digits; ++i) {
      const char digit = at + i < text.size() ? text[at + i] : '?';
      const char low = static_cast<char>(digit | 0x20);
      if (is_digit_char(digit)) {
        c = c * 16 + static_cast<char32_t>(digit - '0');
      } else if (low >= 'a' && low <= 'f') {
        c = c * 16 + static_cast<char32_t>(low - 'a' + 10);
      } else {
        refuse(fmt::format("truncated \\{} escape in a string", "xxuxxxxxU"[n_digits]));
      }
    }
    if (c > 0x10FFFF) {
      refuse("illegal Unicode character in a string");
    }
    return c >= 0xD800 && c < 0xE000 ? 0xFFFD : c;  // half a pair is no text
  }

  std::string unescape(std::string_view text) const {
    constexpr std::string_view kFrom = "abfnrtv\\'\"";
    constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\'\"";
    std::string out;
    for (size_t i = 0; i < text.size();) {
      const char c = text[i];
      if (c != '\\') {
        out += c;
        ++i;
        continue;
      }
      const char next = text[i + 1];
      if (const size_t simple = kFrom.find(next); simple != std::string_view::npos) {
        out += kTo[simple];
        i += 2;
      } else if (next == '\n') {
        i += 2;
      } else if (next >= '0' && next <= '7') {
        char32_t code = 0;
        size_t end = i + 1;
        while (end < text.size() && end < i + 4 && text[end] >= '0' && text[end] <= '7') {
          code = code * 8 + static_cast<char32_t>(text[end++] - '0');
        }
        append_utf8(out, code);
        i = end;
      } else if (next == 'x' || next == 'u' || next == 'U') {
        const size_t n_digits = next == 'x' ? 2 : next == 'u' ? 4 : 8;
        append_utf8(out, read_hex(text, i + 2, n_digits));
        i += 2 + n_digits;
      } else if (next == 'N') {
        refuse("\\N{...} in a string is not supported; write \\u and the number");
      } else if (static_cast<unsigned char>(next) < 0x80) {
        out += '\\';  // an unknown escape stays as it is
        out += next;
        i += 2;
      } else {
        // jinja2 writes the character as an escape first, and the backslash escapes that.
        const char32_t code = char_at(text, i + 1);
        out += code < 0x100     ? fmt::format("\\x{:02x}", static_cast<uint32_t>(code))
               : code < 0x10000 ? fmt::format("\\u{:04x}", static_cast<uint32_t>(code))
                                : fmt::format("\\U{:08x}", static_cast<uint32_t>(code));
        i += 1 + char_size(text, i + 1);
      }
    }
    return out;
  }

  void read_operator(std::string& open) {
    for (const std::string_view op : kOperators) {
      if (!starts(op)) {
        continue;
      }
      if (op == "(" || op == "[" || op == "{") {
        open += op == "(" ? ')' : op == "[" ? ']' : '}';
      } else if (op == ")" || op == "]" || op == "}") {
        if (open.empty()) {
          refuse(fmt::format("unexpected '{}'", op));
        }
        if (open.back() != op[0]) {
          refuse(fmt::format("unexpected '{}', expected '{}'", op, open.back()));
        }
        open.pop_back();
      }
      add(TokenKind::kOperator, source_.substr(at_, op.size()));
      advance(op.size());
      return;
    }
    refuse(fmt::format("unexpected char '{}'", source_.substr(at_, char_size(source_, at_))));
  }

  TokenList& list_;
  std::string_view source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  bool line_starting_ = true;
};

}  // namespace

TokenList tokenize(std::string_view source) {
  for (size_t at = 0; at < source.size();) {
    const Utf8Unit unit = read_utf8(source, at);
    if (unit.kind != Utf8Unit::Kind::kCharacter) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format(
               "chat template: byte {} (0x{:02x}) is not valid UTF-8; save the template as UTF-8",
               at, static_cast<unsigned char>(source[at])));
    }
    at += unit.size;
  }
  TokenList list;
  list.texts.push_back(normalize(source));
  Lexer(list).run();
  return list;
}

}  // namespace fathom::codec::jinja
