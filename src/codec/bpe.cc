// Two ways to merge with one result: a scan for short words, a heap over a linked list for long
// ones. Called by codec/text_tokenizer. Read next: codec/merge_table.h, codec/sentencepiece.cc.
#include "codec/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "codec/byte_alphabet.h"
#include "codec/utf8.h"
#include "codec/word_cache.h"

namespace fathom::codec {

namespace {

// Up to here a scan over all pairs for each merge beats the heap.
constexpr size_t kShortWord = 32;

constexpr std::string_view kBlank = "\xE2\x96\x81";  // U+2581

// A possible merge in a long word. The heap gives the lowest rank first, then the leftmost.
struct Candidate {
  uint32_t rank;
  int32_t left;  // position of the left symbol
  TokenId result;

  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

// A symbol of a long word, in a doubly linked list by position. id -1: merged into its neighbour.
struct Symbol {
  TokenId id;
  int32_t previous, next;  // -1: none
};

}  // namespace

// The words of one encode call.
class BpeModel::WordRun final : public PieceModel::Run {
 public:
  explicit WordRun(const BpeModel& model) : model_(model), options_(model.options_) {}

  void add(std::string_view word, std::vector<TokenId>& out) override;

  [[nodiscard]] uint64_t n_steps() const override { return n_steps_; }

 private:
  void add_word(std::string_view word, std::vector<TokenId>& out);
  void cut_bytes(std::string_view word);
  void cut_characters(std::string_view word);
  bool add_byte_pieces(std::string_view symbol);
  void merge_short();
  void merge_long();

  const BpeModel& model_;
  const BpeOptions& options_;
  WordCache cache_;
  uint64_t n_steps_ = 0;
  std::string spelled_;                   // a symbol or word as the vocabulary has it
  std::vector<TokenId> ids_;              // symbols of the word
  std::vector<MergeTable::Merge> pairs_;  // short words: the rule for (ids_[i], ids_[i + 1])
  std::vector<Symbol> symbols_;           // long words
  std::vector<Candidate> heap_;           // long words
};

BpeModel::BpeModel(PieceIndex index, MergeTable merges, BpeOptions options)
    : index_(std::move(index)), merges_(std::move(merges)), options_(std::move(options)) {
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    std::string text;
    if (options_.byte_level) {
      append_byte_alphabet(text, static_cast<unsigned char>(byte));
    } else {
      text = fmt::format("<0x{:02X}>", byte);
    }
    byte_ids_[byte] = index_.find(text).value_or(-1);
  }
  const bool is_plain = options_.continuing_prefix.empty() && options_.end_suffix.empty();
  if (!options_.byte_level && is_plain && index_.find(kBlank)) {
    cuts_.emplace();
    for (const std::string& text : index_.texts()) {
      cuts_->add_piece(text);
    }
  }
}

std::unique_ptr<PieceModel::Run> BpeModel::start() const {
  return std::make_unique<WordRun>(*this);
}

std::optional<TokenId> BpeModel::find(std::string_view stored_text) const {
  return index_.find(stored_text);
}

bool BpeModel::has_all_bytes() const {
  return std::find(byte_ids_.begin(), byte_ids_.end(), -1) == byte_ids_.end();
}

void BpeModel::WordRun::add(std::string_view word, std::vector<TokenId>& out) {
  if (!model_.cuts_) {
    add_word(word, out);
    return;
  }
  if (options_.ignore_merges) {
    if (const auto whole = model_.index_.find(word)) {
      out.push_back(*whole);
      return;
    }
  }
  for (size_t begin = 0; begin < word.size();) {
    const size_t end = model_.cuts_->find_cut(word, begin);
    add_word(word.substr(begin, end - begin), out);
    begin = end;
  }
}

void BpeModel::WordRun::add_word(std::string_view word, std::vector<TokenId>& out) {
  const uint64_t hash = hash_text(word);
  if (cache_.find(word, hash, out)) {
    return;
  }
  ids_.clear();
  if (options_.ignore_merges && !model_.cuts_) {
    spelled_.clear();
    for (const char c : word) {
      if (options_.byte_level) {
        append_byte_alphabet(spelled_, static_cast<unsigned char>(c));
      } else {
        spelled_ += c;
      }
    }
    if (const auto whole = model_.index_.find(spelled_)) {
      ids_.push_back(*whole);
    }
  }
  if (ids_.empty()) {
    options_.byte_level ? cut_bytes(word) : cut_characters(word);
    ids_.size() <= kShortWord ? merge_short() : merge_long();
  }
  cache_.insert(word, hash, ids_);
  out.insert(out.end(), ids_.begin(), ids_.end());
}

void BpeModel::WordRun::cut_bytes(std::string_view word) {
  for (const char c : word) {
    const TokenId id = model_.byte_ids_[static_cast<unsigned char>(c)];
    if (id >= 0) {
      ids_.push_back(id);
    }
  }
}

// Adds the byte tokens of `symbol` if the vocabulary has all of them.
bool BpeModel::WordRun::add_byte_pieces(std::string_view symbol) {
  const bool has_all = std::all_of(symbol.begin(), symbol.end(), [&](char c) {
    return model_.byte_ids_[static_cast<unsigned char>(c)] >= 0;
  });
  if (has_all) {
    for (const char c : symbol) {
      ids_.push_back(model_.byte_ids_[static_cast<unsigned char>(c)]);
    }
  }
  return has_all;
}

void BpeModel::WordRun::cut_characters(std::string_view word) {
  bool has_unk = false;  // an unknown character waits for the ones that join it
  const auto release = [&] {
    if (has_unk) {
      ids_.push_back(*options_.unk);
    }
    has_unk = false;
  };
  for (size_t at = 0; at < word.size();) {
    const size_t size = read_utf8(word, at).size;
    const std::string_view character = word.substr(at, size);
    std::string_view symbol = character;
    const bool is_last = at + size == word.size();
    if ((at > 0 && !options_.continuing_prefix.empty()) ||
        (is_last && !options_.end_suffix.empty())) {
      spelled_ = at > 0 ? options_.continuing_prefix : std::string();
      spelled_ += character;
      spelled_ += is_last ? options_.end_suffix : std::string();
      symbol = spelled_;
    }
    at += size;
    if (const auto id = model_.index_.find(symbol)) {
      release();
      ids_.push_back(*id);
    } else if (!(options_.byte_fallback && add_byte_pieces(symbol))) {
      if (!options_.missing_unk.empty()) {
        fail(ErrorCode::kCorruptFile,
             fmt::format("'{}' is in no piece, and the unknown token '{}' is not in the vocabulary",
                         character, options_.missing_unk));
      }
      if (!options_.fuse_unk) {
        release();
      }
      has_unk = options_.unk.has_value();
    }
  }
  release();
}

void BpeModel::WordRun::merge_short() {
  pairs_.clear();
  for (size_t i = 0; i + 1 < ids_.size(); ++i) {
    pairs_.push_back(model_.merges_.find(ids_[i], ids_[i + 1]));
  }
  n_steps_ += pairs_.size();
  while (!pairs_.empty()) {
    const auto best = std::min_element(
        pairs_.begin(), pairs_.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    if (best->rank == UINT32_MAX) {
      return;
    }
    const auto left = best - pairs_.begin();
    const auto at = static_cast<size_t>(left);
    ids_[at] = best->result;
    ids_.erase(ids_.begin() + left + 1);
    pairs_.erase(best);
    if (at < pairs_.size()) {
      pairs_[at] = model_.merges_.find(ids_[at], ids_[at + 1]);
    }
    if (at > 0) {
      pairs_[at - 1] = model_.merges_.find(ids_[at - 1], ids_[at]);
    }
    n_steps_ += 2;
  }
}

void BpeModel::WordRun::merge_long() {
  symbols_.clear();
  heap_.clear();
  const auto n = static_cast<int32_t>(ids_.size());
  for (int32_t i = 0; i < n; ++i) {
    symbols_.push_back({ids_[static_cast<size_t>(i)], i - 1, i + 1 < n ? i + 1 : -1});
  }
  const auto symbol = [&](int32_t at) -> Symbol& { return symbols_[static_cast<size_t>(at)]; };
  const auto consider = [&](int32_t left) {
    if (left < 0 || symbol(left).next < 0) {
      return;
    }
    ++n_steps_;
    const auto merge = model_.merges_.find(symbol(left).id, symbol(symbol(left).next).id);
    if (merge.rank != UINT32_MAX) {
      heap_.push_back({merge.rank, left, merge.result});
      std::push_heap(heap_.begin(), heap_.end());
    }
  };
  for (int32_t i = 0; i < n; ++i) {
    consider(i);
  }
  while (!heap_.empty()) {
    ++n_steps_;
    std::pop_heap(heap_.begin(), heap_.end());
    const Candidate top = heap_.back();
    heap_.pop_back();
    Symbol& left = symbol(top.left);
    if (left.id < 0 || left.next < 0) {
      continue;
    }
    Symbol& right = symbol(left.next);
    if (model_.merges_.find(left.id, right.id).rank != top.rank) {
      continue;  // one of the two has changed since
    }
    left.id = top.result;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) {
      symbol(left.next).previous = top.left;
    }
    consider(left.previous);
    consider(top.left);
  }
  ids_.clear();
  for (int32_t at = 0; at >= 0; at = symbol(at).next) {
    ids_.push_back(symbol(at).id);
  }
}

}  // namespace fathom::codec
