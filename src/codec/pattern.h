// One regular expression, compiled once and walked over texts as the reference's engine walks it.
// Called by codec/split_stage, codec/normalizer, codec/pre_tokenizer. Read next: codec/pattern.cc.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::codec {

// Bytes [begin, end) of a text.
struct TextRange {
  size_t begin = 0, end = 0;
};

struct PatternOptions {
  bool by_bytes = false;        // match bytes, not characters
  bool is_foreign = false;      // read from a file: dialect of Ruby (Oniguruma), steps are limited
  std::string_view where = {};  // file and key, for errors
};

class Pattern {
 public:
  // Errors: kUnsupported when the expression is not understood; the message has it and the place.
  explicit Pattern(std::string_view regex, PatternOptions options = {});
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  // A pattern that matches `text` letter by letter.
  static Pattern of_text(std::string_view text);

  [[nodiscard]] const std::string& regex() const { return regex_; }

  // Goes through the matches in a text, leftmost first, none overlapping. An empty match right
  // after another one is passed over. `text` is valid UTF-8 unless by_bytes and must outlive it.
  // Error of next(): kResourceExhausted when an expression read from a file tries too much.
  class Walk {
   public:
    Walk(const Pattern& pattern, std::string_view text);
    ~Walk();
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

    std::optional<TextRange> next();

   private:
    struct Scratch;
    const Pattern* pattern_;
    std::string_view text_;
    std::unique_ptr<Scratch> scratch_;
    size_t at_ = 0;
    std::optional<size_t> last_end_;
  };

 private:
  struct Code;
  std::string regex_;
  bool is_foreign_;
  std::unique_ptr<Code> code_;
};

// The expression in PCRE2's words. Ruby's `$` and `^` know lines, its \h is a hexadecimal digit,
// X{n,m}+ repeats, and a class may be an intersection; \s, \S, \w, \W are what Oniguruma takes for
// them. Error: kUnsupported for what has no counterpart.
std::string translate_regex(std::string_view regex, bool is_foreign);

}  // namespace fathom::codec
