// Two ways to merge with one result: a scan for short words, a heap over a linked list for long
// ones. Called by codec/tokenizer. Read next: codec/merge_table.h, codec/sentencepiece.cc.
#include "codec/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <utility>

#include "base/error.h"
#include "codec/byte_alphabet.h"
#include "codec/nfc.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";

// Up to here a scan over all pairs for each merge beats the heap.
constexpr size_t kShortWord = 32;

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

size_t count_merges(const weights::Metadata& metadata) {
  const auto* merges = metadata.find_strings(kMergesKey);
  if (merges == nullptr) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key '{}' is missing; a byte-pair vocabulary cannot do without",
                     metadata.path(), kMergesKey));
  }
  return merges->size();
}

[[noreturn]] void fail_merge(const weights::Metadata& metadata, size_t rank, std::string_view merge,
                             std::string_view what) {
  fail(ErrorCode::kCorruptFile, fmt::format("{}: key '{}': entry {} is '{}': {}", metadata.path(),
                                            kMergesKey, rank, merge.substr(0, 80), what));
}

}  // namespace

struct BpeTokenizer::Scratch {
  std::string stored;                    // a word in the byte alphabet
  std::vector<TokenId> ids;              // its symbols
  std::vector<MergeTable::Merge> pairs;  // short words: the rule for (ids[i], ids[i + 1])
  std::vector<Symbol> symbols;           // long words
  std::vector<Candidate> heap;           // long words
};

BpeTokenizer::BpeTokenizer(const weights::Metadata& metadata, Vocabulary vocabulary,
                           const PreTokenizer& pre)
    : TextTokenizer(metadata, std::move(vocabulary)),
      splitter_(pre.split),
      nfc_(pre.nfc),
      ignore_merges_(pre.ignore_merges),
      merges_(count_merges(metadata)),
      whole_(std::make_unique<std::atomic<Whole>[]>(this->vocabulary().texts.size())) {
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    std::string text;
    append_byte_alphabet(text, static_cast<unsigned char>(byte));
    byte_ids_[byte] = find(text).value_or(-1);
  }
  read_merges(metadata);
}

void BpeTokenizer::read_merges(const weights::Metadata& metadata) {
  const auto* merges = metadata.find_strings(kMergesKey);
  std::string joined;
  for (size_t rank = 0; rank < merges->size(); ++rank) {
    const std::string_view merge = (*merges)[rank];
    const size_t blank = merge.find(' ', 1);
    if (blank == std::string_view::npos || blank + 1 == merge.size()) {
      fail_merge(metadata, rank, merge, "expected two pieces with one blank between them");
    }
    const std::string_view left = merge.substr(0, blank);
    const std::string_view right = merge.substr(blank + 1);
    joined.assign(left).append(right);
    const auto left_id = find(left);
    const auto right_id = find(right);
    const auto result = find(joined);
    if (!left_id || !right_id || !result) {
      const std::string_view missing = !left_id ? left : !right_id ? right : joined;
      fail_merge(metadata, rank, merge,
                 fmt::format("the piece '{}' is not in 'tokenizer.ggml.tokens'", missing));
    }
    merges_.insert(*left_id, *right_id, {static_cast<uint32_t>(rank), *result});
  }
}

std::string BpeTokenizer::piece_bytes(TokenId id) const {
  const std::string& text = text_of(id);
  if (kind_of(id) == TokenKind::kUserDefined) {
    return text;  // matched in raw text, so stored raw
  }
  return from_byte_alphabet(text).value_or(text);
}

void BpeTokenizer::encode_text(std::string_view text, std::vector<TokenId>& out) const {
  std::string normalized;
  if (nfc_ && !is_surely_nfc(text)) {
    normalized = to_nfc(text);
    text = normalized;
  }
  std::vector<std::string_view> words;
  splitter_.split(text, words);
  Scratch scratch;
  for (const std::string_view word : words) {
    encode_word(word, scratch, out);
  }
}

void BpeTokenizer::encode_word(std::string_view word, Scratch& scratch,
                               std::vector<TokenId>& out) const {
  scratch.stored.clear();
  for (const char c : word) {
    append_byte_alphabet(scratch.stored, static_cast<unsigned char>(c));
  }
  TokenId entry = find(scratch.stored).value_or(-1);
  if (entry >= 0 && kind_of(entry) != TokenKind::kNormal) {
    entry = -1;
  }
  Whole whole = Whole::kUnknown;
  if (entry >= 0) {
    whole = ignore_merges_ ? Whole::kYes
                           : whole_[static_cast<size_t>(entry)].load(std::memory_order_relaxed);
  }
  if (whole == Whole::kYes) {
    out.push_back(entry);
    return;
  }
  std::vector<TokenId>& ids = scratch.ids;
  ids.clear();
  for (const char c : word) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(c)];
    if (id >= 0) {
      ids.push_back(id);
    }
  }
  if (ids.size() <= kShortWord) {
    merge_short(ids, scratch);
  } else {
    merge_long(ids, scratch);
  }
  if (entry >= 0 && whole == Whole::kUnknown) {
    whole = ids.size() == 1 && ids[0] == entry ? Whole::kYes : Whole::kNo;
    whole_[static_cast<size_t>(entry)].store(whole, std::memory_order_relaxed);
  }
  out.insert(out.end(), ids.begin(), ids.end());
}

void BpeTokenizer::merge_short(std::vector<TokenId>& ids, Scratch& scratch) const {
  std::vector<MergeTable::Merge>& pairs = scratch.pairs;
  pairs.clear();
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    pairs.push_back(merges_.find(ids[i], ids[i + 1]));
  }
  while (!pairs.empty()) {
    const auto best = std::min_element(
        pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    if (best->rank == UINT32_MAX) {
      return;
    }
    const auto left = best - pairs.begin();
    const auto at = static_cast<size_t>(left);
    ids[at] = best->result;
    ids.erase(ids.begin() + left + 1);
    pairs.erase(best);
    if (at < pairs.size()) {
      pairs[at] = merges_.find(ids[at], ids[at + 1]);
    }
    if (at > 0) {
      pairs[at - 1] = merges_.find(ids[at - 1], ids[at]);
    }
  }
}

void BpeTokenizer::merge_long(std::vector<TokenId>& ids, Scratch& scratch) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  std::vector<Candidate>& heap = scratch.heap;
  symbols.clear();
  heap.clear();
  const auto n = static_cast<int32_t>(ids.size());
  for (int32_t i = 0; i < n; ++i) {
    symbols.push_back({ids[static_cast<size_t>(i)], i - 1, i + 1 < n ? i + 1 : -1});
  }
  const auto symbol = [&](int32_t at) -> Symbol& { return symbols[static_cast<size_t>(at)]; };
  const auto consider = [&](int32_t left) {
    if (left < 0 || symbol(left).next < 0) {
      return;
    }
    const auto merge = merges_.find(symbol(left).id, symbol(symbol(left).next).id);
    if (merge.rank != UINT32_MAX) {
      heap.push_back({merge.rank, left, merge.result});
      std::push_heap(heap.begin(), heap.end());
    }
  };
  for (int32_t i = 0; i < n; ++i) {
    consider(i);
  }
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate top = heap.back();
    heap.pop_back();
    Symbol& left = symbol(top.left);
    if (left.id < 0 || left.next < 0) {
      continue;
    }
    Symbol& right = symbol(left.next);
    if (merges_.find(left.id, right.id).rank != top.rank) {
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
  ids.clear();
  for (int32_t at = 0; at >= 0; at = symbol(at).next) {
    ids.push_back(symbol(at).id);
  }
}

}  // namespace fathom::codec
