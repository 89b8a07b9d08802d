// Picks the way to read a tokenizer: a GGUF file's keys, or the files of a Hugging Face folder.
// Called by api, apps/tokenize. Read next: codec/gguf_tokenizer.cc, codec/tokenizer_files.cc.
#include "codec/tokenizer.h"

#include <filesystem>

#include "codec/gguf_tokenizer.h"
#include "codec/self_test.h"
#include "codec/text_tokenizer.h"
#include "codec/tokenizer_files.h"

namespace fathom::codec {

std::unique_ptr<Tokenizer> make_tokenizer(const weights::Metadata& metadata) {
  if (metadata.source() == weights::Source::kHuggingFace) {
    const std::filesystem::path folder = std::filesystem::path(metadata.path()).parent_path();
    return open_tokenizer(folder.empty() ? "." : folder.string());
  }
  return check_tokenizer(std::make_unique<TextTokenizer>(make_gguf_pipeline(metadata)));
}

}  // namespace fathom::codec
