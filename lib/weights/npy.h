// Writes a matrix as a NumPy file, for comparison with other programs.
// Called by apps (fathom logits). Source: the NEP 1 description of the .npy format.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fathom::weights {

// Writes `values` [n_rows, n_cols], row-major, as little-endian float32. The file appears whole or
// not at all. Errors: those of OutputFile; kInvalidArgument when the shape and the values differ in
// size.
void write_npy(const std::string& path, std::span<const float> values, int64_t n_rows,
               int64_t n_cols);

}  // namespace fathom::weights
