// The header of a .npy file, version 1.0, and the values behind it.
// Called by apps (fathom logits). Read next: base/output_file.h.
#include "weights/npy.h"

#include <fmt/format.h>

#include <bit>
#include <string_view>

#include "base/error.h"
#include "base/output_file.h"

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

void write_npy(const std::string& path, std::span<const float> values, int64_t n_rows,
               int64_t n_cols) {
  int64_t count = 0;
  if (n_rows < 0 || n_cols < 0 || __builtin_mul_overflow(n_rows, n_cols, &count) ||
      static_cast<size_t>(count) != values.size()) {
    fail(ErrorCode::kInvalidArgument, fmt::format("{}: found {} values, expected [{}, {}]", path,
                                                  values.size(), n_rows, n_cols));
  }
  OutputFile file(path);
  file.write(std::string_view(header(n_rows, n_cols)));
  file.write(std::as_bytes(values));
  file.commit();
}

}  // namespace fathom::weights
