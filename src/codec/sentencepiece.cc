// A heap over a linked list of symbols: each is a stretch of the normalized text.
// Called by codec/tokenizer. Read next: codec/text_tokenizer.cc.
#include "codec/sentencepiece.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "codec/utf8.h"
#include "codec/vocabulary.h"

namespace fathom::codec {

namespace {

constexpr std::string_view kBlank = "\xE2\x96\x81";  // U+2581 stands for the blank

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size());
  size_t done = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, done)) {
    out.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  return out.append(text, done);
}

// The character that ends at `end` (> 0) of a valid text; a byte that is none by itself otherwise.
char32_t character_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80) {
    --at;
  }
  return read_utf8(text, at).character;
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(const weights::Metadata& metadata,
                                               Vocabulary vocabulary)
    : TextTokenizer(metadata, std::move(vocabulary)), pieces_(this->vocabulary().texts.size()) {
  const Vocabulary& v = this->vocabulary();
  if (v.scores.empty()) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key 'tokenizer.ggml.scores' is missing; the tokenizer model '{}' merges "
                     "by score",
                     metadata.path(), v.model));
  }
  byte_ids_.fill(-1);
  for (size_t i = 0; i < v.texts.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string& text = v.texts[i];
    if (v.kinds[i] == TokenKind::kByte) {
      byte_ids_[static_cast<size_t>(parse_byte_token(text))] = id;
    }
    // User-defined tokens are matched in raw text before; only runs of blanks can come up again
    // here, from a text that has U+2581 itself.
    const bool has_blank = text.find(' ') != std::string::npos;
    const bool merges = v.kinds[i] == TokenKind::kNormal || v.kinds[i] == TokenKind::kUnused ||
                        (v.kinds[i] == TokenKind::kUserDefined && has_blank);
    if (!merges || text.empty()) {
      continue;
    }
    const std::string& piece =
        has_blank ? respelled_.emplace_back(replace_all(text, " ", kBlank)) : text;
    pieces_.insert(piece, id);
    for (size_t at = piece.find(kBlank, 1); at != std::string::npos;
         at = piece.find(kBlank, at + 1)) {
      before_blank_.insert(character_before(piece, at));
    }
  }
  has_all_bytes_ = std::find(byte_ids_.begin(), byte_ids_.end(), -1) == byte_ids_.end();
  if (!has_all_bytes_ && !v.unk) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key 'tokenizer.ggml.unknown_token_id' is missing and "
                     "'tokenizer.ggml.tokens' has not all byte tokens: some texts have no ids",
                     metadata.path()));
  }
}

struct SentencePieceTokenizer::Merger {
  // A stretch [begin, begin + size) of the text; size 0: merged into its left neighbour.
  struct Symbol {
    uint32_t begin, size;
    int32_t previous, next;  // -1: none
  };

  // Two neighbours that form a piece. The heap gives the highest score first, then the leftmost.
  struct Candidate {
    float score;
    int32_t left, right;
    uint32_t size;  // bytes of both when they were found; differs later if one has changed
    TokenId id;

    bool operator<(const Candidate& other) const {
      return score != other.score ? score < other.score : left > other.left;
    }
  };

  const SentencePieceTokenizer& tokenizer;
  std::string_view text;
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  // Unused pieces take part in merging but do not come out: they are undone into their two parts.
  std::unordered_map<std::string_view, uint32_t> unused_splits;

  // Adds the ids of `word`.
  void run(std::string_view word, std::vector<TokenId>& out);
  void consider(int32_t left, int32_t right);
  void add(std::string_view piece, std::vector<TokenId>& out) const;

  Symbol& at(int32_t i) { return symbols[static_cast<size_t>(i)]; }
};

void SentencePieceTokenizer::Merger::consider(int32_t left, int32_t right) {
  if (left < 0 || right < 0) {
    return;
  }
  const Symbol& first = at(left);
  const uint32_t size = first.size + at(right).size;
  const std::string_view joined = text.substr(first.begin, size);
  const std::optional<TokenId> id = tokenizer.pieces_.find(joined);
  if (!id) {
    return;
  }
  heap.push_back({tokenizer.vocabulary().scores[static_cast<size_t>(*id)], left, right, size, *id});
  std::push_heap(heap.begin(), heap.end());
  if (tokenizer.kind_of(*id) == TokenKind::kUnused) {
    unused_splits[joined] = first.size;
  }
}

void SentencePieceTokenizer::Merger::add(std::string_view piece, std::vector<TokenId>& out) const {
  const std::optional<TokenId> id = tokenizer.pieces_.find(piece);
  if (!id) {
    tokenizer.add_unknown(piece, out);
    return;
  }
  if (tokenizer.kind_of(*id) == TokenKind::kUnused) {
    const auto split = unused_splits.find(piece);
    if (split != unused_splits.end()) {
      add(piece.substr(0, split->second), out);
      add(piece.substr(split->second), out);
      return;
    }
  }
  out.push_back(*id);
}

void SentencePieceTokenizer::Merger::run(std::string_view word, std::vector<TokenId>& out) {
  text = word;
  symbols.clear();
  unused_splits.clear();
  for (size_t begin = 0; begin < text.size();) {
    const size_t size = read_utf8(text, begin).size;
    const auto i = static_cast<int32_t>(symbols.size());
    const bool last = begin + size == text.size();
    symbols.push_back(
        {static_cast<uint32_t>(begin), static_cast<uint32_t>(size), i - 1, last ? -1 : i + 1});
    begin += size;
  }
  for (size_t i = 0; i + 1 < symbols.size(); ++i) {
    consider(static_cast<int32_t>(i), static_cast<int32_t>(i + 1));
  }
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate top = heap.back();
    heap.pop_back();
    Symbol& left = at(top.left);
    Symbol& right = at(top.right);
    if (left.size == 0 || right.size == 0 || left.size + right.size != top.size) {
      continue;  // one of the two has changed since
    }
    left.size = top.size;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0) {
      at(left.next).previous = top.left;
    }
    consider(left.previous, top.left);
    consider(top.left, left.next);
  }
  for (int32_t i = symbols.empty() ? -1 : 0; i >= 0; i = at(i).next) {
    add(text.substr(at(i).begin, at(i).size), out);
  }
}

void SentencePieceTokenizer::encode_text(std::string_view text, std::vector<TokenId>& out) const {
  std::string normalized = vocabulary().add_space_prefix ? std::string(kBlank) : std::string();
  normalized += replace_all(text, " ", kBlank);
  // Positions are 32 bits wide.
  if (normalized.size() > INT32_MAX) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("a text of {} bytes is too long to encode; expected less than 2 GiB",
                     text.size()));
  }
  Merger merger{.tokenizer = *this, .text = {}, .symbols = {}, .heap = {}, .unused_splits = {}};

  struct Range {
    size_t begin, size;  // in `out`
  };

  std::unordered_map<std::string_view, Range> seen;  // words of this text
  const std::string_view whole = normalized;
  for (size_t begin = 0; begin < whole.size();) {
    const size_t end = find_cut(whole, begin);
    const std::string_view word = whole.substr(begin, end - begin);
    begin = end;
    const auto [entry, is_new] = seen.try_emplace(word, Range{out.size(), 0});
    if (is_new) {
      merger.run(word, out);
      entry->second.size = out.size() - entry->second.begin;
      continue;
    }
    const Range range = entry->second;
    out.resize(out.size() + range.size);
    std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(range.begin), range.size,
                out.end() - static_cast<std::ptrdiff_t>(range.size));
  }
}

size_t SentencePieceTokenizer::find_cut(std::string_view text, size_t begin) const {
  if (!has_all_bytes_) {
    return text.size();  // a run of unknown characters is one token, across words too
  }
  for (size_t at = text.find(kBlank, begin + 1); at != std::string_view::npos;
       at = text.find(kBlank, at + 1)) {
    if (!before_blank_.contains(character_before(text, at))) {
      return at;
    }
  }
  return text.size();
}

void SentencePieceTokenizer::add_unknown(std::string_view character,
                                         std::vector<TokenId>& out) const {
  const bool has_bytes =
      has_all_bytes_ || std::all_of(character.begin(), character.end(), [&](char c) {
        return byte_ids_[static_cast<unsigned char>(c)] >= 0;
      });
  if (has_bytes) {
    for (const char c : character) {
      out.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    }
  } else if (out.empty() || out.back() != *vocabulary().unk) {
    out.push_back(*vocabulary().unk);  // one for a run of unknown characters
  }
}

std::string SentencePieceTokenizer::piece_bytes(TokenId id) const {
  const std::string& text = text_of(id);
  if (kind_of(id) == TokenKind::kByte) {
    return std::string(1, static_cast<char>(parse_byte_token(text)));
  }
  return replace_all(text, kBlank, " ");
}

}  // namespace fathom::codec
