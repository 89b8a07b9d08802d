// Candidate ends go back character by character from the longest piece of the vocabulary.
// Called by codec/text_tokenizer. Read next: codec/text_tokenizer.cc.
#include "codec/word_piece.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "codec/unicode.h"
#include "codec/word_cache.h"

namespace fathom::codec {

class WordPieceModel::Matcher final : public PieceModel::Run {
 public:
  explicit Matcher(const WordPieceModel& model) : model_(model) {}

  void add(std::string_view word, std::vector<TokenId>& out) override;

  [[nodiscard]] uint64_t n_steps() const override { return n_steps_; }

 private:
  bool match(std::string_view word);

  const WordPieceModel& model_;
  WordCache cache_;
  uint64_t n_steps_ = 0;
  std::string piece_;
  std::vector<TokenId> ids_;
};

// False when some part of the word is in no piece.
bool WordPieceModel::Matcher::match(std::string_view word) {
  const WordPieceOptions& options = model_.options_;
  ids_.clear();
  const auto n_characters = static_cast<size_t>(std::count_if(word.begin(), word.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0u) != 0x80;
  }));
  if (!options.whole_words && n_characters > options.most_characters) {
    return false;
  }
  for (size_t begin = 0; begin < word.size();) {
    const std::string& prefix = begin == 0 ? options.first_prefix : options.continuing_prefix;
    size_t end =
        options.whole_words ? word.size() : std::min(word.size(), begin + model_.index_.longest());
    std::optional<TokenId> id;
    for (; end > begin; end = character_start(word, end)) {
      ++n_steps_;
      piece_.assign(prefix).append(word, begin, end - begin);
      // Where pieces at a word's begin have a mark, what has it is no piece inside of a word.
      const bool is_marked =
          begin > 0 && !options.first_prefix.empty() && piece_.starts_with(options.first_prefix);
      id = is_marked ? std::nullopt : model_.index_.find(piece_);
      if (id || options.whole_words) {
        break;
      }
    }
    if (!id) {
      return false;
    }
    ids_.push_back(*id);
    begin = end;
  }
  return true;
}

void WordPieceModel::Matcher::add(std::string_view word, std::vector<TokenId>& out) {
  const uint64_t hash = hash_text(word);
  if (cache_.find(word, hash, out)) {
    return;
  }
  if (!match(word)) {
    if (!model_.options_.unk) {
      fail(ErrorCode::kUnsupported,
           fmt::format("the word '{}' is in no piece, and the vocabulary has no unknown token",
                       word.substr(0, 40)));
    }
    ids_.assign(1, *model_.options_.unk);
  }
  cache_.insert(word, hash, ids_);
  out.insert(out.end(), ids_.begin(), ids_.end());
}

WordPieceModel::WordPieceModel(PieceIndex index, WordPieceOptions options)
    : index_(std::move(index)), options_(std::move(options)) {}

std::unique_ptr<PieceModel::Run> WordPieceModel::start() const {
  return std::make_unique<Matcher>(*this);
}

std::optional<TokenId> WordPieceModel::find(std::string_view stored_text) const {
  return index_.find(stored_text);
}

}  // namespace fathom::codec
