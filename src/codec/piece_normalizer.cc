// SentencePiece's normalization: the longest entry of the character map at each place, blanks
// joined and stripped where the model says so, U+2581 for blanks, a dummy prefix.
// Called by codec/gguf_tokenizer, codec/sentencepiece_file. Source: SentencePiece, normalizer.cc.
#include <utility>
#include <vector>

#include "codec/normalizer.h"
#include "codec/text_set.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kBlank = "\xE2\x96\x81";

class PieceNormalizer final : public Normalizer {
 public:
  explicit PieceNormalizer(PieceNormalizerOptions options) : options_(std::move(options)) {
    std::vector<TextSet::Entry> entries;
    for (std::string& text : options_.protected_texts) {
      entries.push_back({std::move(text), 0});
    }
    protected_ = TextSet(std::move(entries));
  }

  void apply(std::string& text) const override;

 private:
  // What stands at `at`: its bytes in the text, and what becomes of them.
  struct Step {
    size_t size;
    std::string_view replacement;
  };

  [[nodiscard]] Step step_at(std::string_view text, size_t at) const;

  PieceNormalizerOptions options_;
  TextSet protected_;
};

PieceNormalizer::Step PieceNormalizer::step_at(std::string_view text, size_t at) const {
  const std::string_view rest = text.substr(at);
  if (const TextSet::Entry* whole = protected_.find_longest(text, at)) {
    return {whole->text.size(), rest.substr(0, whole->text.size())};
  }
  if (const auto match = options_.charmap.find_longest(rest)) {
    return {match->size, match->replacement};
  }
  const size_t size = read_utf8(text, at).size;
  return {size, rest.substr(0, size)};
}

void PieceNormalizer::apply(std::string& text) const {
  const std::string_view blank = options_.escape_blanks ? kBlank : std::string_view(" ");
  const bool joins = options_.remove_extra_blanks;
  size_t at = 0;
  while (joins && at < text.size()) {
    const Step step = step_at(text, at);
    if (step.replacement != " ") {
      break;
    }
    at += step.size;
  }
  if (at >= text.size()) {
    text.clear();
    return;
  }
  std::string out;
  out.reserve(text.size() + text.size() / 2 + blank.size());
  if (options_.add_dummy_prefix && !options_.blank_as_suffix) {
    out += blank;
  }
  bool after_blank = joins;
  while (at < text.size()) {
    const Step step = step_at(text, at);
    at += step.size;
    std::string_view added = step.replacement;
    while (after_blank && added.starts_with(' ')) {
      added.remove_prefix(1);
    }
    for (const char c : added) {
      c == ' ' ? out.append(blank) : out.append(1, c);
    }
    if (!added.empty()) {
      after_blank = added.back() == ' ';
    }
    after_blank = after_blank && joins;
  }
  while (joins && std::string_view(out).ends_with(blank)) {
    out.resize(out.size() - blank.size());
  }
  if (options_.add_dummy_prefix && options_.blank_as_suffix) {
    out += blank;
  }
  text = std::move(out);
}

}  // namespace

NormalizerPtr make_piece_normalizer(PieceNormalizerOptions options) {
  return std::make_unique<PieceNormalizer>(std::move(options));
}

}  // namespace fathom::codec
