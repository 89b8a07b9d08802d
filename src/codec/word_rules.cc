// One pass over the text: each function takes the place where a word begins and gives its end,
// trying what the alternatives of the expression try, in their order.
// Called by codec/split_stage. Read next: tests/src/codec/word_rules_test.cc, which compares with
// PCRE2.
#include "codec/word_rules.h"

#include <array>
#include <cstddef>
#include <utility>

#include "codec/unicode.h"

namespace fathom::codec {

namespace {

struct KnownRule {
  std::string_view regex;
  WordRule rule;
};

constexpr auto kKnownRules = std::to_array<KnownRule>({
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     {.kind = WordRule::Kind::kWords}},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     {.kind = WordRule::Kind::kWords}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
     {.kind = WordRule::Kind::kLines, .most_digits = 1}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
     {.kind = WordRule::Kind::kLines, .most_digits = 3}},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
     R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {.kind = WordRule::Kind::kLines, .most_digits = 1, .marks = true}},
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|)"
     R"(\s++$|\s*[\r\n]|\s+(?!\S)|\s)",
     {.kind = WordRule::Kind::kLines, .most_digits = 3, .whole_end = true}},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {.kind = WordRule::Kind::kCase, .most_digits = 1, .contractions = false}},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {.kind = WordRule::Kind::kCase, .most_digits = 3}},
});

constexpr uint8_t kBitsUpperCase = kBitUpper | kBitCaseless | kBitMark;
constexpr uint8_t kBitsLowerCase = kBitLower | kBitCaseless | kBitMark;

// A text with the kinds of its characters. All places are byte offsets.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), table_(CharTable::get()) {}

  struct Char {
    uint8_t bits;
    uint8_t size;
  };

  [[nodiscard]] size_t size() const { return text_.size(); }

  // The byte at `at`, 0 at the end.
  [[nodiscard]] unsigned char byte(size_t at) const {
    return at < text_.size() ? static_cast<unsigned char>(text_[at]) : 0;
  }

  // The character at `at` (< size()).
  [[nodiscard]] Char read(size_t at) const {
    const auto first = static_cast<unsigned char>(text_[at]);
    if (first < 0x80) {
      return {table_.ascii_bits(first), 1};
    }
    const auto later = [&](size_t i) {
      return static_cast<char32_t>(static_cast<unsigned char>(text_[at + i]) & 0x3F);
    };
    if (first < 0xE0) {
      return {table_.bits((char32_t{first} & 0x1F) << 6 | later(1)), 2};
    }
    if (first < 0xF0) {
      return {table_.bits((char32_t{first} & 0x0F) << 12 | later(1) << 6 | later(2)), 3};
    }
    return {table_.bits((char32_t{first} & 0x07) << 18 | later(1) << 12 | later(2) << 6 | later(3)),
            4};
  }

  // The end of the characters from `at` on that have one of `bits`.
  [[nodiscard]] size_t skip(size_t at, uint8_t bits) const {
    while (at < text_.size()) {
      const Char c = read(at);
      if ((c.bits & bits) == 0) {
        break;
      }
      at += c.size;
    }
    return at;
  }

  // The same for characters that have none of `bits`.
  [[nodiscard]] size_t skip_others(size_t at, uint8_t bits) const {
    while (at < text_.size()) {
      const Char c = read(at);
      if ((c.bits & bits) != 0) {
        break;
      }
      at += c.size;
    }
    return at;
  }

 private:
  std::string_view text_;
  const CharTable& table_;
};

// The end of a contraction like 'll whose apostrophe stands at `at`; `at` when there is none.
size_t skip_contraction(const Reader& reader, size_t at, bool any_case) {
  if (reader.byte(at) != '\'') {
    return at;
  }
  const auto letter = [&](size_t i) -> unsigned char {
    const unsigned char c = reader.byte(at + i);
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<unsigned char>(c + 32) : c;
  };
  const unsigned char first = letter(1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') {
    return at + 2;
  }
  const unsigned char second = letter(2);
  if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l')) {
    return at + 3;
  }
  // U+017F, the long s, folds to s.
  return any_case && first == 0xC5 && reader.byte(at + 2) == 0xBF ? at + 3 : at;
}

// White space from `at` on: all of it at the end of the text; else the last character is left to
// the word after it, unless it is the only one.
size_t skip_blanks(const Reader& reader, size_t at) {
  size_t end = at;
  size_t last = at;
  while (end < reader.size()) {
    const auto c = reader.read(end);
    if ((c.bits & kBitSpace) == 0) {
      break;
    }
    last = end;
    end += c.size;
  }
  return end == reader.size() || last == at ? end : last;
}

size_t end_of_number(const Reader& reader, size_t at, int most_digits) {
  if (most_digits == 0) {
    return reader.skip(at, kBitNumber);
  }
  for (int i = 0; i < most_digits && at < reader.size(); ++i) {
    const auto c = reader.read(at);
    if ((c.bits & kBitNumber) == 0) {
      break;
    }
    at += c.size;
  }
  return at;
}

size_t next_of_words(const Reader& reader, size_t at) {
  constexpr uint8_t kNoSign = kBitsLetter | kBitNumber | kBitSpace;
  if (const size_t end = skip_contraction(reader, at, false); end > at) {
    return end;
  }
  const size_t begin = reader.byte(at) == ' ' ? at + 1 : at;
  if (begin < reader.size()) {
    const auto c = reader.read(begin);
    if ((c.bits & kBitsLetter) != 0) {
      return reader.skip(begin + c.size, kBitsLetter);
    }
    if ((c.bits & kBitNumber) != 0) {
      return reader.skip(begin + c.size, kBitNumber);
    }
    if ((c.bits & kBitSpace) == 0) {
      return reader.skip_others(begin + c.size, kNoSign);
    }
  }
  return skip_blanks(reader, at);
}

// What kLines and kCase have in common after words and numbers: signs, line ends, blanks.
size_t end_of_signs_or_blanks(const WordRule& rule, const Reader& reader, size_t at) {
  const auto no_sign =
      static_cast<uint8_t>(kBitsLetter | kBitNumber | kBitSpace | (rule.marks ? kBitMark : 0));
  const size_t begin = reader.byte(at) == ' ' ? at + 1 : at;
  if (begin < reader.size() && (reader.read(begin).bits & no_sign) == 0) {
    size_t end = reader.skip_others(begin, no_sign);
    while (reader.byte(end) == '\r' || reader.byte(end) == '\n' ||
           (rule.kind == WordRule::Kind::kCase && reader.byte(end) == '/')) {
      ++end;
    }
    return end;
  }
  size_t end = at;
  size_t after_line = at;  // the end of the last line end
  while (end < reader.size()) {
    const auto c = reader.read(end);
    if ((c.bits & kBitSpace) == 0) {
      break;
    }
    end += c.size;
    after_line = (c.bits & kBitLine) != 0 ? end : after_line;
  }
  if (rule.whole_end && end == reader.size()) {
    return end;
  }
  return after_line > at ? after_line : skip_blanks(reader, at);
}

size_t next_of_lines(const WordRule& rule, const Reader& reader, size_t at) {
  if (const size_t end = skip_contraction(reader, at, true); end > at) {
    return end;
  }
  const auto letters = static_cast<uint8_t>(kBitsLetter | (rule.marks ? kBitMark : 0));
  const auto c = reader.read(at);
  if ((c.bits & letters) != 0) {
    return reader.skip(at + c.size, letters);
  }
  if ((c.bits & kBitNumber) != 0) {
    return end_of_number(reader, at, rule.most_digits);
  }
  if ((c.bits & kBitLine) == 0) {
    const size_t end = reader.skip(at + c.size, letters);
    if (end > at + c.size) {
      return end;
    }
  }
  return end_of_signs_or_blanks(rule, reader, at);
}

// The end of upper-case letters and then at least one lower-case one, from `at` on; `at` when that
// does not fit. Letters without case and marks count as both.
size_t end_of_lower_word(const Reader& reader, size_t at) {
  size_t end = at;
  size_t after_both = at;  // the end of the last character that counts as lower case too
  while (end < reader.size()) {
    const auto c = reader.read(end);
    if ((c.bits & kBitsUpperCase) == 0) {
      if ((c.bits & kBitLower) != 0) {
        return reader.skip(end, kBitsLowerCase);
      }
      break;
    }
    end += c.size;
    after_both = (c.bits & kBitsLowerCase) != 0 ? end : after_both;
  }
  return after_both;
}

size_t next_of_case(const WordRule& rule, const Reader& reader, size_t at) {
  const auto c = reader.read(at);
  const bool is_prefix = (c.bits & (kBitsLetter | kBitNumber | kBitLine)) == 0;
  const size_t after = at + c.size;
  size_t end = is_prefix ? end_of_lower_word(reader, after) : at;
  end = end > after ? end : end_of_lower_word(reader, at);
  if (end == at && is_prefix) {
    const size_t upper = reader.skip(after, kBitsUpperCase);
    end = upper > after ? upper : at;
  }
  end = end > at ? end : reader.skip(at, kBitsUpperCase);
  if (end > at) {
    return rule.contractions ? skip_contraction(reader, end, true) : end;
  }
  if ((c.bits & kBitNumber) != 0) {
    return end_of_number(reader, at, rule.most_digits);
  }
  return end_of_signs_or_blanks(rule, reader, at);
}

template <class Next>
void cut(std::string_view text, std::vector<std::string_view>& words, Next next) {
  const Reader reader(text);
  for (size_t at = 0; at < text.size();) {
    const size_t end = next(reader, at);
    words.push_back(text.substr(at, end - at));
    at = end;
  }
}

}  // namespace

std::optional<WordRule> find_word_rule(std::string_view regex) {
  for (const KnownRule& known : kKnownRules) {
    if (known.regex == regex) {
      return known.rule;
    }
  }
  return std::nullopt;
}

void cut_words(const WordRule& rule, std::string_view text, std::vector<std::string_view>& words) {
  switch (rule.kind) {
    case WordRule::Kind::kWords:
      return cut(text, words,
                 [](const Reader& reader, size_t at) { return next_of_words(reader, at); });
    case WordRule::Kind::kLines:
      return cut(text, words,
                 [&](const Reader& reader, size_t at) { return next_of_lines(rule, reader, at); });
    case WordRule::Kind::kCase:
      return cut(text, words,
                 [&](const Reader& reader, size_t at) { return next_of_case(rule, reader, at); });
  }
}

}  // namespace fathom::codec
