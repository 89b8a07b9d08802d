// The split rules that cut a text into words before byte-pair merging, as a table of the
// reference's own regular expressions. Called by codec/bpe. Read next: codec/gguf_fixups.cc, which
// says which file uses which rule.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

namespace fathom::codec {

// Named by what they do, not by who uses them.
enum class SplitRule {
  kWords,              // words, runs of digits, runs of signs, each with one blank before
  kWordsDigits,        // the same after every digit was cut out
  kWordsBytesDigits,   // punctuation first, then words, then digits over the byte alphabet
  kLinesDigits1,       // line ends join the signs before them; digits one by one
  kLinesDigits3,       // the same with up to three digits
  kLinesMarksDigits1,  // as kLinesDigits1, combining marks count as letters
  kCaseDigits1,        // cut where lower case turns to upper case; digits one by one
  kCaseDigits3,        // the same with contractions and up to three digits
  kScriptsDigitRuns,   // lines, Latin-like letters, signs, CJK, runs of digits one after another
  kScriptsDigits1,     // lines, letters, punctuation, CJK, single digits one after another
  kCjkMarksDigits3,    // digits by three, CJK runs, then words with marks and signs
};

// Thread rule: split() may be called by any thread.
class PreSplitter {
 public:
  explicit PreSplitter(SplitRule rule);
  ~PreSplitter();
  PreSplitter(const PreSplitter&) = delete;
  PreSplitter& operator=(const PreSplitter&) = delete;

  // Cuts `text` (valid UTF-8) into pieces that together are the text; they point into it. Replaces
  // `pieces`. Time: proportional to the text for all texts that are known (a run of one letter,
  // blank, sign or digit of any length included).
  void split(std::string_view text, std::vector<std::string_view>& pieces) const;

 private:
  struct Stages;
  std::unique_ptr<Stages> stages_;
};

}  // namespace fathom::codec
