// A file with the log-probabilities of a whole perplexity run, for another run to compare with.
// Called by apps/perplexity, api/divergence. Read next: api/perplexity.h, base/output_file.h.
//
// Little-endian: 8 bytes "FTHMLOGP"; u32 version (1); u32 bytes of the name; i64 n_vocab, chunk,
// n_chunks; the name, padded with zeros to a multiple of 8; i32 ids [n_chunks * chunk]; f32
// log-probabilities [n_chunks * scored_per_chunk, n_vocab]. Nothing follows.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "api/perplexity.h"
#include "base/mapped_file.h"
#include "base/output_file.h"

namespace fathom::api {

// Written as the run goes: only one step's rows are ever in memory. The file appears at commit(),
// or never. Thread rule: one thread.
class LogProbWriter {
 public:
  // `model_name` is only shown again. Errors: those of OutputFile; kInvalidArgument for a size that
  // no file can have.
  LogProbWriter(const std::string& path, std::string_view model_name, int64_t n_vocab,
                const ChunkedText& text);

  // Appends; the rows must come in the order of the text. Errors: those of OutputFile.
  void write(const ScoredRows& rows);

  // Gives the file its name; all rows must have been written (FATHOM_CHECK). Errors: those of
  // OutputFile.
  void commit();

 private:
  OutputFile file_;
  int64_t rows_left_;
};

// Such a file, mapped. Thread rule: const members may be called from any thread.
class SavedLogProbs {
 public:
  // Errors: those of MappedFile; kCorruptFile (no such file's head, sizes that do not fit the
  // file's length); kUnsupported (a newer version).
  explicit SavedLogProbs(const std::string& path);

  [[nodiscard]] const std::string& path() const { return file_.path(); }

  // The model that made it, as it was called then.
  [[nodiscard]] const std::string& model_name() const { return model_name_; }

  [[nodiscard]] int64_t n_vocab() const { return n_vocab_; }

  [[nodiscard]] int64_t chunk() const { return chunk_; }

  [[nodiscard]] int64_t n_chunks() const { return n_chunks_; }

  // Error: kInvalidArgument unless the file has this vocabulary size and chunk and its text begins
  // with `text`: what differs is named, with both values.
  void require_same(int64_t n_vocab, const ChunkedText& text) const;

  // [n_vocab] log-probabilities of the token at `index` of ChunkedText::ids; it must be a scored
  // one.
  [[nodiscard]] std::span<const float> row(int64_t index) const;

  // `n_rows` rows from that of token `index` on are not needed for now: their memory may be used
  // for others.
  void release(int64_t index, int64_t n_rows) const;

 private:
  [[nodiscard]] int64_t row_number(int64_t index) const;
  void read_head();

  MappedFile file_;
  std::string model_name_;
  int64_t n_vocab_ = 0, chunk_ = 0, n_chunks_ = 0;
  std::span<const int32_t> ids_;
  std::span<const float> rows_;
};

}  // namespace fathom::api
