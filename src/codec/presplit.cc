// One to six regular expressions a rule: every stage cuts the pieces of the one
// before into matches and the gaps between them. Called by codec/bpe. Source: the tokenizer.json
// files of the model families, word for word.
#include "codec/presplit.h"

#include <span>
#include <utility>

#include "codec/split_stage.h"

namespace fathom::codec {

namespace {

struct StageText {
  std::string_view regex;
  bool by_bytes = false;  // match bytes, not characters
};

constexpr StageText kWord = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"};
constexpr StageText kDigit = {R"(\p{N})"};
constexpr StageText kLine = {R"([\r\n])"};
constexpr StageText kCjk = {R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)"};

constexpr StageText kWords[] = {kWord};
constexpr StageText kWordsDigits[] = {kDigit, kWord};

// "Digits" and the split by three see the byte alphabet, whose characters for B2 B3 B9 BC BD BE are
// superscripts and fractions: numbers to Unicode, so these bytes are cut out of their characters.
constexpr StageText kWordsBytesDigits[] = {{R"([\p{P}$+<=>^`|~]+)"},
                                           kWord,
                                           {R"([0-9\xB2\xB3\xB9\xBC\xBD\xBE]+)", true},
                                           {R"([0-9][0-9][0-9])", true}};

constexpr StageText kLinesDigits1[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)"}};

constexpr StageText kLinesDigits3[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)"}};

constexpr StageText kLinesMarksDigits1[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
     R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};

constexpr StageText kCaseDigits1[] = {
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};

constexpr StageText kCaseDigits3[] = {
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};

constexpr StageText kScriptsDigitRuns[] = {
    kLine,
    {R"(\s?[A-Za-z\x{00B5}\x{00C0}-\x{00D6}\x{00D8}-\x{00F6}\x{00F8}-\x{01BA})"
     R"(\x{01BC}-\x{01BF}\x{01C4}-\x{0293}\x{0295}-\x{02AF}\x{0370}-\x{0373}\x{0376})"
     R"(\x{0377}\x{037B}-\x{037D}\x{037F}\x{0386}\x{0388}-\x{038A}\x{038C})"
     R"(\x{038E}-\x{03A1}\x{03A3}-\x{03F5}\x{03F7}-\x{0481}\x{048A}-\x{052F})"
     R"(\x{0531}-\x{0556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD})"
     R"(\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"
     R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45})"
     R"(\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D})"
     R"(\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC})"
     R"(\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4})"
     R"(\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D})"
     R"(\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139})"
     R"(\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B})"
     R"(\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
     R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"
     R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A})"
     R"(\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
     R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)"},
    {R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)"},
    {R"(\s+$)"},
    kCjk,
    {R"(\p{N}+)"}};

constexpr StageText kScriptsDigits1[] = {kLine, {R"(\s?\p{L}+)"}, {R"(\s?\p{P}+)"}, kCjk, kDigit};

constexpr StageText kCjkMarksDigits3[] = {
    {R"(\p{N}{1,3})"},
    {R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"},
    {R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
     R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};

std::span<const StageText> stages_of(SplitRule rule) {
  switch (rule) {
    case SplitRule::kWords:
      return kWords;
    case SplitRule::kWordsDigits:
      return kWordsDigits;
    case SplitRule::kWordsBytesDigits:
      return kWordsBytesDigits;
    case SplitRule::kLinesDigits1:
      return kLinesDigits1;
    case SplitRule::kLinesDigits3:
      return kLinesDigits3;
    case SplitRule::kLinesMarksDigits1:
      return kLinesMarksDigits1;
    case SplitRule::kCaseDigits1:
      return kCaseDigits1;
    case SplitRule::kCaseDigits3:
      return kCaseDigits3;
    case SplitRule::kScriptsDigitRuns:
      return kScriptsDigitRuns;
    case SplitRule::kScriptsDigits1:
      return kScriptsDigits1;
    case SplitRule::kCjkMarksDigits3:
      return kCjkMarksDigits3;
  }
  return {};
}

}  // namespace

struct PreSplitter::Stages {
  std::vector<SplitStage> list;
};

PreSplitter::PreSplitter(SplitRule rule) : stages_(std::make_unique<Stages>()) {
  for (const StageText& stage : stages_of(rule)) {
    stages_->list.emplace_back(stage.regex, PatternOptions{.by_bytes = stage.by_bytes});
  }
}

PreSplitter::~PreSplitter() = default;

void PreSplitter::split(std::string_view text, std::vector<std::string_view>& pieces) const {
  pieces.clear();
  if (text.empty()) {
    return;
  }
  if (stages_->list.size() == 1) {
    stages_->list[0].cut(text, pieces);
    return;
  }
  pieces.push_back(text);
  std::vector<std::string_view> finer;
  for (const SplitStage& stage : stages_->list) {
    finer.clear();
    for (const std::string_view piece : pieces) {
      stage.cut(piece, finer);
    }
    std::swap(pieces, finer);
  }
}

}  // namespace fathom::codec
