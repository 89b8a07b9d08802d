// Probes that hold for every file of a kind, so that no list of families is needed.
// Called by codec/tokenizer, codec/tokenizer_files. Read next: tests/src/codec/self_test_test.cc.
#include "codec/self_test.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

// Letters of several scripts, digits, blanks and line ends in runs, signs, and an astral character.
constexpr std::string_view kProbes[] = {
    "Hello world, it's 1234567 o'clock.",
    "  two blanks\n\n\ttab  ",
    "na\xC3\xAFve \xE4\xBD\xA0\xE5\xA5\xBD \xD0\xBC\xD0\xB8\xD1\x80 \xF0\x9F\x98\x80!",
};

[[noreturn]] void refuse(const TextTokenizer& tokenizer, std::string_view probe,
                         const std::vector<TokenId>& ids, std::string_view what) {
  fail(
      ErrorCode::kCorruptFile,
      fmt::format("{}: self-test of the tokenizer: {:?} gives the ids {}, {}; the file's stages do "
                  "not fit together",
                  tokenizer.path(), probe, fmt::join(ids, " "), what));
}

void check_probe(const TextTokenizer& tokenizer, std::string_view probe) {
  std::vector<TokenId> ids;
  try {
    ids = tokenizer.encode(probe, {});
  } catch (const Error&) {
    if (tokenizer.keeps_text()) {
      throw;
    }
    return;  // a vocabulary without an unknown token need not spell every text
  }
  const auto n_vocab = static_cast<TokenId>(tokenizer.vocabulary().texts.size());
  if (std::any_of(ids.begin(), ids.end(), [&](TokenId id) { return id < 0 || id >= n_vocab; })) {
    refuse(tokenizer, probe, ids, "one of them out of range");
  }
  if (!tokenizer.keeps_text()) {
    return;
  }
  const std::string whole = tokenizer.decode(ids, true);
  if (whole != probe) {
    refuse(tokenizer, probe, ids, fmt::format("which decode to {:?}", replace_invalid_utf8(whole)));
  }
  std::string streamed;
  const auto stream = tokenizer.start_decoding(true, true);
  for (const TokenId id : ids) {
    stream->push(id, streamed);
  }
  stream->finish(streamed);
  if (streamed != whole) {
    refuse(tokenizer, probe, ids,
           fmt::format("which decode one by one to {:?}", replace_invalid_utf8(streamed)));
  }
}

}  // namespace

std::unique_ptr<Tokenizer> check_tokenizer(std::unique_ptr<TextTokenizer> tokenizer) {
  for (const std::string_view probe : kProbes) {
    check_probe(*tokenizer, probe);
  }
  return tokenizer;
}

}  // namespace fathom::codec
