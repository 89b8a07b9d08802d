// JSON read where it lies, value by value, for files of tens of megabytes: texts without escapes
// are views into the file, and no tree is built.
// Called by codec/tokenizer_json, codec/jinja_json, codec/json_text. Read next:
// codec/json_scanner.cc. Source: RFC 8259.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>

#include "base/error.h"

namespace fathom::codec {

// Stands before a value; every read_ function steps over one. Errors of all: kCorruptFile, or the
// code given, with the file, the byte, what was found and what was expected, for broken JSON, texts
// that are not UTF-8, lone surrogates, values of another type and more than 1000 levels.
class JsonScanner {
 public:
  // `text` must outlive the scanner and what it gives.
  JsonScanner(std::string_view text, std::string path, ErrorCode code = ErrorCode::kCorruptFile);

  enum class Type { kNull, kBool, kNumber, kText, kList, kObject };

  // The type of the next value.
  [[nodiscard]] Type peek();

  // Steps over null, if that is next; gives whether it was.
  bool skip_null();

  bool read_bool();
  int64_t read_integer();
  double read_number();

  // A number as it is written.
  std::string_view read_digits() { return find_number(); }

  // Stays valid as long as the scanner.
  std::string_view read_text() {
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

  // Any value; its JSON.
  std::string_view read_raw();

  // An object: calls on_member(key) before each value, which it must step over.
  template <class F>
  void read_object(F on_member) {
    open('{', "an object");
    for (bool is_first = true; find_next('}', is_first); is_first = false) {
      const std::string_view key = read_text();
      expect(':');
      on_member(key);
    }
  }

  // A list: calls on_item() before each value, which it must step over.
  template <class F>
  void read_list(F on_item) {
    open('[', "a list");
    for (bool is_first = true; find_next(']', is_first); is_first = false) {
      on_item();
    }
  }

  // After the last value: nothing but white space.
  void finish();

  // Bytes of the text not read yet.
  [[nodiscard]] size_t n_left() const { return text_.size() - at_; }

  [[noreturn]] void refuse(std::string_view expected) const;

 private:
  static constexpr int kMostLevels = 1000;
  static constexpr uint64_t kOnes = 0x0101010101010101u;
  static constexpr uint64_t kHighs = 0x8080808080808080u;

  // The high bit of each byte that is zero; of the lowest such byte it is exact.
  static constexpr uint64_t zero_bytes(uint64_t word) { return (word - kOnes) & ~word & kHighs; }

  // Where the part of a text that holds no quote, backslash or control character ends.
  static size_t find_special(std::string_view text, size_t at) {
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

  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

  void skip_space() {
    while (is_space(current())) {
      ++at_;
    }
  }

  void expect(char c) {
    skip_space();
    if (current() != c) {
      refuse_missing(c);
    }
    ++at_;
  }

  void open(char c, std::string_view what) {
    skip_space();
    if (current() != c) {
      refuse(what);
    }
    ++at_;
    if (++depth_ > kMostLevels) {
      refuse_depth();
    }
  }

  // Steps to the next member or item; false when `close` ends them.
  bool find_next(char close, bool is_first) {
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

  [[noreturn]] void refuse_missing(char c) const;
  [[noreturn]] void refuse_depth() const;
  std::string_view find_number();
  bool skip_word(std::string_view word);
  std::string_view read_escaped(size_t begin);
  void append_escape(std::string& out);
  char32_t read_hex();
  void skip_digits();

  // '\0' at the end of the text.
  [[nodiscard]] char current() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view text_;
  std::string path_;
  ErrorCode code_;
  size_t at_ = 0;
  int depth_ = 0;
  std::deque<std::string> unescaped_;
};

}  // namespace fathom::codec
