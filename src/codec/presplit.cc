// One to six regular expressions a rule, run by PCRE2: every stage cuts the pieces of the one
// before into matches and the gaps between them. Called by codec/bpe. Source: the tokenizer.json
// files of the model families, word for word.
#include "codec/presplit.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string>

#include "base/check.h"
#include "base/error.h"

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the way to tell pcre2.h the width
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

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

// PCRE2's \s holds U+180E, the references' does not: theirs is the property White_Space.
std::string translate(std::string_view regex) {
  std::string out;
  for (size_t at = 0; at < regex.size(); ++at) {
    const std::string_view pair = regex.substr(at, 2);
    if (pair == R"(\s)") {
      out += R"(\p{White_Space})";
      ++at;
    } else if (pair == R"(\S)") {
      out += R"(\P{White_Space})";
      ++at;
    } else if (pair.size() == 2 && pair[0] == '\\') {
      out += pair;  // keeps an escaped backslash together
      ++at;
    } else {
      out += regex[at];
    }
  }
  return out;
}

struct FreePcre2 {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }

  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }

  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }

  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

using Code = std::unique_ptr<pcre2_code, FreePcre2>;
using MatchData = std::unique_ptr<pcre2_match_data, FreePcre2>;
using MatchContext = std::unique_ptr<pcre2_match_context, FreePcre2>;
using JitStack = std::unique_ptr<pcre2_jit_stack, FreePcre2>;

constexpr size_t kJitStackStart = size_t{32} * 1024;
constexpr size_t kJitStackLimit = size_t{16} * 1024 * 1024;

Code compile(const StageText& stage) {
  const std::string regex = translate(stage.regex);
  int error = 0;
  PCRE2_SIZE offset = 0;
  const uint32_t options = stage.by_bytes ? 0u : PCRE2_UTF | PCRE2_UCP;
  const std::basic_string<PCRE2_UCHAR> pattern(regex.begin(), regex.end());
  Code code(pcre2_compile(pattern.data(), pattern.size(), options, &error, &offset, nullptr));
  if (code == nullptr) {
    fail(ErrorCode::kInternal,
         fmt::format("split rule: PCRE2 error {} at byte {} of {}", error, offset, regex));
  }
  // Without a just-in-time compiler for this machine the interpreter does the same, slower.
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return code;
}

}  // namespace

struct PreSplitter::Stages {
  // What one call of split() needs; not shared between threads.
  struct Scratch {
    MatchData data{pcre2_match_data_create(1, nullptr)};
    MatchContext context{pcre2_match_context_create(nullptr)};
    JitStack stack{pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr)};

    Scratch() {
      // The rules do not backtrack without bound, so no limit is meant to be met.
      pcre2_set_match_limit(context.get(), UINT32_MAX);
      pcre2_set_heap_limit(context.get(), UINT32_MAX);
      pcre2_set_depth_limit(context.get(), UINT32_MAX);
      pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
    }
  };

  std::vector<Code> codes;

  // Adds the matches in `piece` and the gaps between them to `out`.
  static void cut(const pcre2_code* code, std::string_view piece, const Scratch& scratch,
                  std::vector<std::string_view>& out);
};

void PreSplitter::Stages::cut(const pcre2_code* code, std::string_view piece,
                              const Scratch& scratch, std::vector<std::string_view>& out) {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(piece.data());
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(scratch.data.get());
  size_t done = 0;
  while (done < piece.size()) {
    uint32_t options = PCRE2_NO_UTF_CHECK;
    int found = pcre2_match(code, subject, piece.size(), done, options, scratch.data.get(),
                            scratch.context.get());
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      options |= PCRE2_NO_JIT;
      found = pcre2_match(code, subject, piece.size(), done, options, scratch.data.get(),
                          scratch.context.get());
    }
    if (found == PCRE2_ERROR_NOMATCH) {
      break;
    }
    if (found < 0) {
      fail(ErrorCode::kInternal,
           fmt::format("split rule: PCRE2 error {} at byte {} of a text of {} bytes", found, done,
                       piece.size()));
    }
    FATHOM_CHECK(bounds[1] > bounds[0]);  // no rule matches the empty text
    if (bounds[0] > done) {
      out.push_back(piece.substr(done, bounds[0] - done));
    }
    out.push_back(piece.substr(bounds[0], bounds[1] - bounds[0]));
    done = bounds[1];
  }
  if (done < piece.size()) {
    out.push_back(piece.substr(done));
  }
}

PreSplitter::PreSplitter(SplitRule rule) : stages_(std::make_unique<Stages>()) {
  for (const StageText& stage : stages_of(rule)) {
    stages_->codes.push_back(compile(stage));
  }
}

PreSplitter::~PreSplitter() = default;

void PreSplitter::split(std::string_view text, std::vector<std::string_view>& pieces) const {
  const Stages::Scratch scratch;
  pieces.clear();
  if (text.empty()) {
    return;
  }
  pieces.push_back(text);
  std::vector<std::string_view> finer;
  for (const Code& code : stages_->codes) {
    finer.clear();
    for (const std::string_view piece : pieces) {
      Stages::cut(code.get(), piece, scratch, finer);
    }
    std::swap(pieces, finer);
  }
}

}  // namespace fathom::codec
