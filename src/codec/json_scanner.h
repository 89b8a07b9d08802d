// JSON read where it lies, value by value, for files of tens of megabytes: texts without escapes
// are views into the file, and no tree is built.
// Called by codec/tokenizer_json, codec/json_text. Read next: codec/json_scanner.cc. Source: RFC
// 8259.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace fathom::codec {

// Stands before a value; every read_ function steps over one. Errors of all: kCorruptFile with the
// file, the byte, what was found and what was expected, for broken JSON, texts that are not UTF-8,
// lone surrogates, values of another type and more than 1000 levels.
class JsonScanner {
 public:
  // `text` must outlive the scanner and what it gives.
  JsonScanner(std::string_view text, std::string path);

  enum class Type { kNull, kBool, kNumber, kText, kList, kObject };

  // The type of the next value.
  [[nodiscard]] Type peek();

  // Steps over null, if that is next; gives whether it was.
  bool skip_null();

  bool read_bool();
  int64_t read_integer();
  double read_number();

  // Stays valid as long as the scanner.
  std::string_view read_text();

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

  [[noreturn]] void refuse(std::string_view expected) const;

 private:
  void skip_space();
  void expect(char c);
  void open(char c, std::string_view what);
  bool find_next(char close, bool is_first);
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
  size_t at_ = 0;
  int depth_ = 0;
  std::deque<std::string> unescaped_;
};

}  // namespace fathom::codec
