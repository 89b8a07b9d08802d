// Head, ids, rows. Read next: api/divergence.cc.
#include "api/saved_logprobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/error.h"

namespace fathom::api {

namespace {

constexpr std::string_view kMagic = "FTHMLOGP";
constexpr uint32_t kVersion = 1;
constexpr uint32_t kMaxName = 4096;

static_assert(std::endian::native == std::endian::little, "the file is read as it lies in memory");

struct Head {
  char magic[8];
  uint32_t version;
  uint32_t name_bytes;
  int64_t n_vocab;
  int64_t chunk;
  int64_t n_chunks;
};

static_assert(sizeof(Head) == 40);

int64_t padded_name(uint32_t name_bytes) {
  return (int64_t{name_bytes} + 7) / 8 * 8;
}

// Length of the whole file, or -1 where the sizes make no sense.
int64_t file_bytes(const Head& head) {
  constexpr int64_t kMaxVocab = std::numeric_limits<int32_t>::max();
  if (head.n_vocab < 1 || head.n_vocab > kMaxVocab || head.chunk < kMinChunk || head.n_chunks < 1) {
    return -1;
  }
  const int64_t scored = ChunkedText{.chunk = head.chunk}.scored_per_chunk();
  int64_t chunk_bytes = 0;
  int64_t id_bytes = 0;
  int64_t bytes = 0;
  const int64_t start = int64_t{sizeof(Head)} + padded_name(head.name_bytes);
  if (__builtin_mul_overflow(scored, head.n_vocab * int64_t{sizeof(float)}, &chunk_bytes) ||
      __builtin_mul_overflow(head.chunk, int64_t{sizeof(int32_t)}, &id_bytes) ||
      __builtin_add_overflow(chunk_bytes, id_bytes, &chunk_bytes) ||
      __builtin_mul_overflow(chunk_bytes, head.n_chunks, &bytes) ||
      __builtin_add_overflow(bytes, start, &bytes)) {
    return -1;
  }
  return bytes;
}

}  // namespace

LogProbWriter::LogProbWriter(const std::string& path, std::string_view model_name, int64_t n_vocab,
                             const ChunkedText& text)
    : file_(path), rows_left_(text.n_chunks() * text.scored_per_chunk()) {
  std::string name(model_name.substr(0, kMaxName));
  Head head = {.magic = {},
               .version = kVersion,
               .name_bytes = static_cast<uint32_t>(name.size()),
               .n_vocab = n_vocab,
               .chunk = text.chunk,
               .n_chunks = text.n_chunks()};
  std::memcpy(head.magic, kMagic.data(), sizeof(head.magic));
  if (file_bytes(head) < 0) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("{}: {} chunks of {} tokens with {} log-probabilities each are more than a "
                     "file can hold; give a smaller --chunks",
                     path, head.n_chunks, head.chunk, n_vocab));
  }
  name.resize(static_cast<size_t>(padded_name(head.name_bytes)), '\0');
  file_.write(std::as_bytes(std::span(&head, 1)));
  file_.write(std::string_view(name));
  file_.write(std::as_bytes(std::span(text.ids)));
}

void LogProbWriter::write(const ScoredRows& rows) {
  rows_left_ -= rows.log_probs.n_rows;
  for (int64_t row = 0; row < rows.log_probs.n_rows; ++row) {
    file_.write(std::as_bytes(std::span<const float>(rows.log_probs.row(row),
                                                     static_cast<size_t>(rows.log_probs.n_cols))));
  }
}

void LogProbWriter::commit() {
  FATHOM_CHECK(rows_left_ == 0);
  file_.commit();
}

SavedLogProbs::SavedLogProbs(const std::string& path) : file_(path) {
  read_head();
}

void SavedLogProbs::read_head() {
  const std::span<const std::byte> bytes = file_.bytes();
  Head head = {};
  if (bytes.size() >= sizeof(head)) {
    std::memcpy(&head, bytes.data(), sizeof(head));
  }
  if (std::string_view(head.magic, sizeof(head.magic)) != kMagic) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: does not begin with '{}'; expected a file that --save-logits wrote",
                     path(), kMagic));
  }
  if (head.version != kVersion) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: found version {}, expected {}; write it again with --save-logits", path(),
                     head.version, kVersion));
  }
  const int64_t expected = head.name_bytes <= kMaxName ? file_bytes(head) : -1;
  if (expected != std::ssize(bytes)) {
    fail(
        ErrorCode::kCorruptFile,
        fmt::format("{}: found {} bytes; its head names {} chunks of {} tokens and a vocabulary of "
                    "{}, which {}; write it again with --save-logits",
                    path(), bytes.size(), head.n_chunks, head.chunk, head.n_vocab,
                    expected < 0 ? "no file can hold" : fmt::format("take {}", expected)));
  }
  n_vocab_ = head.n_vocab;
  chunk_ = head.chunk;
  n_chunks_ = head.n_chunks;
  const std::byte* at = bytes.data() + sizeof(head);
  model_name_.assign(reinterpret_cast<const char*>(at), head.name_bytes);
  at += padded_name(head.name_bytes);
  // The mapping begins at a page and every part is a multiple of 4 bytes: both are aligned.
  ids_ = {reinterpret_cast<const int32_t*>(at), static_cast<size_t>(n_chunks_ * chunk_)};
  at += ids_.size_bytes();
  rows_ = {reinterpret_cast<const float*>(at),
           static_cast<size_t>(bytes.data() + bytes.size() - at) / sizeof(float)};
}

void SavedLogProbs::require_same(int64_t n_vocab, const ChunkedText& text) const {
  const auto refuse = [&](const std::string& what, int64_t found, int64_t expected) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("{}: {}: found {} in the file, this run has {}; the two cannot be compared",
                     path(), what, found, expected));
  };
  if (n_vocab_ != n_vocab) {
    refuse("the size of the vocabulary differs", n_vocab_, n_vocab);
  }
  if (chunk_ != text.chunk) {
    refuse("the tokens in a chunk (-c) differ", chunk_, text.chunk);
  }
  if (n_chunks_ < text.n_chunks()) {
    refuse("the number of chunks is too small (--chunks)", n_chunks_, text.n_chunks());
  }
  const auto [own, saved] = std::ranges::mismatch(text.ids, ids_);
  if (own != text.ids.end()) {
    refuse(
        fmt::format("the text or the tokenizer differs, first in token {}", own - text.ids.begin()),
        *saved, *own);
  }
}

int64_t SavedLogProbs::row_number(int64_t index) const {
  const ChunkedText shape{.chunk = chunk_};
  const int64_t in_chunk = index % chunk_ - shape.first_scored();
  FATHOM_DCHECK(index >= 0 && index < std::ssize(ids_) && in_chunk >= 0);
  return index / chunk_ * shape.scored_per_chunk() + in_chunk;
}

std::span<const float> SavedLogProbs::row(int64_t index) const {
  return rows_.subspan(static_cast<size_t>(row_number(index) * n_vocab_),
                       static_cast<size_t>(n_vocab_));
}

void SavedLogProbs::release(int64_t index, int64_t n_rows) const {
  file_.release(std::as_bytes(rows_.subspan(static_cast<size_t>(row_number(index) * n_vocab_),
                                            static_cast<size_t>(n_rows * n_vocab_))));
}

}  // namespace fathom::api
