// Viterbi over byte positions: at each place all pieces that begin there are followed in the tree.
// Called by codec/text_tokenizer. Read next: codec/word_piece.cc.
#include "codec/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/error.h"
#include "codec/utf8.h"
#include "codec/vocabulary.h"
#include "codec/word_cache.h"

namespace fathom::codec {

namespace {

constexpr double kUnknownPenalty = 10.0;  // below the lowest score, as in SentencePiece
constexpr std::string_view kBlank = "\xE2\x96\x81";
constexpr size_t kMostNodes = size_t{1} << 23;  // node and byte share 32 bits

}  // namespace

UnigramModel::UnigramModel(const Vocabulary& vocabulary, std::vector<bool> is_piece,
                           std::string_view where, Options options)
    : vocabulary_(&vocabulary), options_(options), index_(vocabulary.texts), edges_(1024) {
  const Vocabulary& v = vocabulary;
  if (v.scores.size() != v.texts.size()) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: found {} scores for {} pieces; a unigram vocabulary has one for each",
                     where, v.scores.size(), v.texts.size()));
  }
  scores_ = v.scores;
  byte_ids_.fill(-1);
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < v.texts.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (v.kinds[i] == TokenKind::kByte) {
      const std::string& text = v.texts[i];
      byte_ids_[static_cast<size_t>(parse_byte_token(text))] = id;
    }
    if (v.kinds[i] == TokenKind::kNormal || (is_piece[i] && !options.rates_user_defined)) {
      lowest = std::min(lowest, double{v.scores[i]});
      highest = std::max(highest, double{v.scores[i]});
    }
    if (is_piece[i] && index_.insert(id)) {
      insert(v.texts[i], id);
      cuts_.add_piece(v.texts[i]);
    }
  }
  for (size_t i = 0; options.rates_user_defined && i < v.texts.size(); ++i) {
    if (v.kinds[i] == TokenKind::kUserDefined) {
      const auto size = static_cast<double>(v.texts[i].size());
      scores_[i] = static_cast<float>(size * highest - 0.1);
    }
  }
  unk_score_ = lowest - kUnknownPenalty;
  may_cut_ = options_.cuts_at_blanks && index_.find(kBlank).has_value();
}

size_t UnigramModel::slot_of(uint32_t key) const {
  const size_t mask = edges_.size() - 1;
  size_t at = (key * 0x9E3779B97F4A7C15u >> 30) & mask;
  while (edges_[at].key != 0 && edges_[at].key != key) {
    at = (at + 1) & mask;
  }
  return at;
}

const UnigramModel::Edge* UnigramModel::step(uint32_t node, unsigned char byte) const {
  const Edge& edge = edges_[slot_of(((node << 8) | byte) + 1)];
  return edge.key == 0 ? nullptr : &edge;
}

void UnigramModel::insert(std::string_view text, TokenId id) {
  uint32_t node = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (2 * (n_nodes_ + 1) > edges_.size()) {
      if (n_nodes_ >= kMostNodes) {
        fail(ErrorCode::kResourceExhausted,
             fmt::format("the pieces of the vocabulary have more than {} bytes", kMostNodes));
      }
      std::vector<Edge> old(edges_.size() * 2);
      std::swap(old, edges_);
      for (const Edge& edge : old) {
        if (edge.key != 0) {
          edges_[slot_of(edge.key)] = edge;
        }
      }
    }
    const uint32_t key = ((node << 8) | static_cast<unsigned char>(text[i])) + 1;
    Edge& edge = edges_[slot_of(key)];
    if (edge.key == 0) {
      edge = {n_nodes_++, key, -1};
    }
    node = edge.node;
    if (i + 1 == text.size()) {
      edge.id = id;
    }
  }
}

// The words of one encode call.
class UnigramModel::Viterbi final : public PieceModel::Run {
 public:
  explicit Viterbi(const UnigramModel& model) : model_(model) {}

  void add(std::string_view text, std::vector<TokenId>& out) override;

  [[nodiscard]] uint64_t n_steps() const override { return n_steps_; }

 private:
  // The best way that ends at a byte. begin: where its last piece begins.
  struct Best {
    double score = 0;
    int64_t begin = -1;  // -1: nothing ends here
    TokenId id = -1;     // -1: an unknown character
  };

  void run(std::string_view word);
  void find_paths(std::string_view word);
  void give_unknown(std::string_view text);

  const UnigramModel& model_;
  WordCache cache_;
  uint64_t n_steps_ = 0;
  std::vector<Best> best_;    // [bytes + 1]
  std::vector<size_t> ends_;  // of the pieces of the best way, last first
  std::vector<TokenId> ids_;
};

void UnigramModel::Viterbi::find_paths(std::string_view word) {
  best_.assign(word.size() + 1, {});
  best_[0].begin = 0;
  const auto consider = [&](size_t begin, size_t end, double score, TokenId id) {
    Best& best = best_[end];
    const double total = best_[begin].score + score;
    if (best.begin < 0 || total > best.score) {
      best = {total, static_cast<int64_t>(begin), id};
    }
  };
  for (size_t at = 0; at < word.size();) {
    const size_t size = read_utf8(word, at).size;
    bool has_character = false;
    uint32_t node = 0;
    for (size_t i = at; i < word.size(); ++i) {
      ++n_steps_;
      const Edge* edge = model_.step(node, static_cast<unsigned char>(word[i]));
      if (edge == nullptr) {
        break;
      }
      node = edge->node;
      if (edge->id >= 0) {
        has_character = has_character || i + 1 == at + size;
        consider(at, i + 1, double{model_.scores_[static_cast<size_t>(edge->id)]}, edge->id);
      }
    }
    if (!has_character) {
      consider(at, at + size, model_.unk_score_, -1);
    }
    at += size;
  }
}

void UnigramModel::Viterbi::give_unknown(std::string_view text) {
  if (const auto id = model_.index_.find(text)) {
    ids_.push_back(*id);
    return;
  }
  const bool has_bytes =
      model_.options_.byte_fallback && std::all_of(text.begin(), text.end(), [&](char c) {
        return model_.byte_ids_[static_cast<unsigned char>(c)] >= 0;
      });
  if (has_bytes) {
    for (const char c : text) {
      ids_.push_back(model_.byte_ids_[static_cast<unsigned char>(c)]);
    }
  } else if (model_.options_.unk) {
    ids_.push_back(*model_.options_.unk);
  } else {
    fail(ErrorCode::kCorruptFile,
         fmt::format("'{}' is in no piece, and the unigram vocabulary has no unknown token",
                     text.substr(0, 40)));
  }
}

void UnigramModel::Viterbi::run(std::string_view word) {
  find_paths(word);
  ends_.clear();
  for (size_t end = word.size(); end > 0; end = static_cast<size_t>(best_[end].begin)) {
    ends_.push_back(end);
  }
  ids_.clear();
  size_t unknown = 0;  // where a run of unknown characters begins
  bool in_unknown = false;
  for (auto end = ends_.rbegin(); end != ends_.rend(); ++end) {
    const Best& best = best_[*end];
    const auto begin = static_cast<size_t>(best.begin);
    const bool is_unknown = best.id < 0 || best.id == model_.options_.unk;
    if (in_unknown && !(is_unknown && model_.options_.fuses_unknown)) {
      give_unknown(word.substr(unknown, begin - unknown));
      in_unknown = false;
    }
    if (is_unknown) {
      unknown = in_unknown ? unknown : begin;
      in_unknown = true;
    } else {
      ids_.push_back(best.id);
    }
  }
  if (in_unknown) {
    give_unknown(word.substr(unknown));
  }
}

void UnigramModel::Viterbi::add(std::string_view text, std::vector<TokenId>& out) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = model_.may_cut_ ? model_.cuts_.find_cut(text, begin) : text.size();
    const std::string_view word = text.substr(begin, end - begin);
    begin = end;
    const uint64_t hash = hash_text(word);
    if (!cache_.find(word, hash, out)) {
      run(word);
      cache_.insert(word, hash, ids_);
      out.insert(out.end(), ids_.begin(), ids_.end());
    }
  }
}

std::unique_ptr<PieceModel::Run> UnigramModel::start() const {
  return std::make_unique<Viterbi>(*this);
}

std::optional<TokenId> UnigramModel::find(std::string_view stored_text) const {
  return index_.find(stored_text);
}

}  // namespace fathom::codec
