// The well-known split rules written by hand: the same cuts as their regular expressions, several
// times as fast. Called by codec/split_stage. Read next: codec/word_rules.cc, codec/unicode.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fathom::codec {

// What distinguishes the rules; see the table in word_rules.cc for the expressions.
struct WordRule {
  enum class Kind : uint8_t {
    kWords,  // GPT-2: a word, number or run of signs takes one blank before it
    kLines,  // a word takes any one character before it, line ends join the signs before them
    kCase,   // as kLines, and a word ends where lower case turns to upper case
  };
  Kind kind = Kind::kWords;
  int most_digits = 0;       // digits that stay together; 0: all
  bool contractions = true;  // 's 't 're 've 'm 'll 'd
  bool marks = false;        // kLines: combining marks count as letters
  bool whole_end = false;    // white space at the end of the text is one word, line ends or not
};

// The rule that an expression spells, if it is one of those known.
std::optional<WordRule> find_word_rule(std::string_view regex);

// Adds the words of `text` (valid UTF-8) to `words`; together they are the text. Time: proportional
// to the text.
void cut_words(const WordRule& rule, std::string_view text, std::vector<std::string_view>& words);

}  // namespace fathom::codec
