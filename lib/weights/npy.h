// Writes a matrix as a NumPy file, for comparison with other programs.
// Called by apps (fathom logits). Source: the NEP 1 description of the .npy format.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/output_file.h"

namespace fathom::weights {

// A matrix [n_rows, n_cols] of little-endian float32, written row after row, so that it need not be
// in memory as a whole. The file appears at commit(), or never. Thread rule: one thread.
class NpyWriter {
 public:
  // Errors: those of OutputFile; kInvalidArgument for a shape that no file can have.
  NpyWriter(const std::string& path, int64_t n_rows, int64_t n_cols);

  // Appends values, row-major; a part of a row is allowed. Errors: those of OutputFile;
  // kInvalidArgument for more values than the shape holds.
  void write(std::span<const float> values);

  // Gives the file its name. Call once, last. Errors: those of OutputFile; kInvalidArgument for
  // fewer values than the shape holds.
  void commit();

 private:
  [[noreturn]] void fail_count(int64_t found) const;

  OutputFile file_;
  std::string path_;
  int64_t n_rows_;
  int64_t n_cols_;
  int64_t n_written_ = 0;
};

}  // namespace fathom::weights
