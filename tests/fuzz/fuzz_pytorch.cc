// Any bytes as a model folder: config.json up to the first NUL byte, pytorch_model.bin behind it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fuzz/run_token.h"
#include "quant/formats.h"
#include "weights/json.h"
#include "weights/pytorch.h"

namespace {

// Gathers the first rows of tensors whose rows are computed while they are read.
void read_rows(const fathom::FileTensor& tensor) {
  constexpr int64_t kMostBytes = 1 << 20;
  const int64_t n_bytes = fathom::quant::row_bytes(tensor.type, tensor.n_cols());
  if (tensor.reader == nullptr || n_bytes > kMostBytes) {
    return;
  }
  const int64_t n_rows = std::min(tensor.n_rows(), kMostBytes / n_bytes);
  std::vector<std::byte> rows(static_cast<size_t>(n_rows * n_bytes));
  tensor.reader->read_rows(tensor.n_rows() - n_rows, n_rows, rows.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fz = fathom::fuzz;
  using fathom::weights::ModelFile;
  using fathom::weights::Source;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t border = std::min(all.find('\0'), size);
  fz::accept_errors([&] {
    auto file = std::make_shared<ModelFile>(
        ModelFile{fathom::weights::Metadata(Source::kHuggingFace, "config.json"), {}});
    const auto rest = std::as_bytes(std::span(data, size)).subspan(std::min(border + 1, size));
    fathom::weights::parse_pytorch(rest, "pytorch_model.bin", nullptr, file->tensors);
    for (const auto& [name, tensor] : file->tensors.tensors()) {
      read_rows(tensor);
    }
    fathom::weights::flatten_json(all.substr(0, border), "config.json", "", file->metadata);
    fz::run_token(file);
  });
  return 0;
}
