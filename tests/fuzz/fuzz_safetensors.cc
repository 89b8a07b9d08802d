// Any bytes as a model folder: config.json up to the first NUL byte, model.safetensors behind it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "fuzz/run_token.h"
#include "weights/json.h"
#include "weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fz = fathom::fuzz;
  using fathom::weights::ModelFile;
  using fathom::weights::Source;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t border = std::min(all.find('\0'), size);
  fz::accept_errors([&] {
    auto file = std::make_shared<ModelFile>(
        ModelFile{fathom::weights::Metadata(Source::kHuggingFace, "config.json"), {}});
    fathom::weights::flatten_json(all.substr(0, border), "config.json", "", file->metadata);
    const auto rest = std::as_bytes(std::span(data, size)).subspan(std::min(border + 1, size));
    fathom::weights::parse_safetensors(rest, "model.safetensors", nullptr, file->tensors);
    fz::run_token(file);
  });
  return 0;
}
