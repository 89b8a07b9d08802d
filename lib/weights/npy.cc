// The header of a .npy file, version 1.0, and the values behind it.
// Called by apps (fathom logits). Read next: base/output_file.h.
#include "weights/npy.h"

#include <fmt/format.h>

#include <bit>
#include <iterator>
#include <string_view>

#include "base/error.h"

namespace fathom::weights {

namespace {

constexpr size_t kPrefixBytes = 10;  // magic, version, length of the dictionary
constexpr size_t kAlignment = 64;    // of the data, by the format

static_assert(std::endian::native == std::endian::little, "'<f4' is written as it lies in memory");

// Everything before the data: a dictionary in Python's spelling, padded with spaces.
std::string header(int64_t n_rows, int64_t n_cols) {
  std::string dictionary = fmt::format(
      "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", n_rows, n_cols);
  const size_t used = kPrefixBytes + dictionary.size() + 1;
  dictionary.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  dictionary += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(dictionary.size() & 0xff);
  out += static_cast<char>(dictionary.size() >> 8);
  return out + dictionary;
}

}  // namespace

NpyWriter::NpyWriter(const std::string& path, int64_t n_rows, int64_t n_cols)
    : file_(path), path_(path), n_rows_(n_rows), n_cols_(n_cols) {
  int64_t n_bytes = 0;
  if (n_rows < 0 || n_cols < 0 || __builtin_mul_overflow(n_rows, n_cols, &n_bytes) ||
      __builtin_mul_overflow(n_bytes, int64_t{sizeof(float)}, &n_bytes)) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("{}: found the shape [{}, {}], expected one that a file can hold", path,
                     n_rows, n_cols));
  }
  file_.write(std::string_view(header(n_rows, n_cols)));
}

void NpyWriter::write(std::span<const float> values) {
  if (std::ssize(values) > n_rows_ * n_cols_ - n_written_) {
    fail_count(n_written_ + std::ssize(values));
  }
  file_.write(std::as_bytes(values));
  n_written_ += std::ssize(values);
}

void NpyWriter::commit() {
  if (n_written_ != n_rows_ * n_cols_) {
    fail_count(n_written_);
  }
  file_.commit();
}

void NpyWriter::fail_count(int64_t found) const {
  fail(ErrorCode::kInvalidArgument,
       fmt::format("{}: found {} values, expected [{}, {}]", path_, found, n_rows_, n_cols_));
}

}  // namespace fathom::weights
