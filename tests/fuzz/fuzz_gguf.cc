// Any bytes as a GGUF file: read, bind, load, run a token; build its tokenizer and encode a text.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "fuzz/run_token.h"
#include "weights/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fz = fathom::fuzz;
  using fathom::weights::ModelFile;
  using fathom::weights::Source;
  fz::accept_errors([&] {
    auto file = std::make_shared<ModelFile>(
        ModelFile{fathom::weights::Metadata(Source::kGguf, "fuzz.gguf"), {}});
    fathom::weights::parse_gguf(std::as_bytes(std::span(data, size)), nullptr, *file);
    fz::accept_errors([&] {
      const auto tokenizer = fathom::codec::make_tokenizer(file->metadata);
      const auto ids = tokenizer->encode("a b\xc3\xa9 12", {true, true});
      static_cast<void>(tokenizer->decode(ids, true));
    });
    fz::run_token(file);
  });
  return 0;
}
