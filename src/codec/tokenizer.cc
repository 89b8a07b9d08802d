// Picks the way to read a tokenizer: a GGUF file's keys, or the files of a Hugging Face folder.
// Called by api, apps/tokenize. Read next: codec/gguf_tokenizer.cc, codec/tokenizer_files.cc.
#include "codec/tokenizer.h"

#include <filesystem>

#include "codec/gguf_tokenizer.h"
#include "codec/self_test.h"
#include "codec/text_tokenizer.h"
#include "codec/tokenizer_files.h"

namespace fathom::codec {

namespace {

// The folder of a Hugging Face model; metadata.path() is its config.json.
std::string folder_of(const weights::Metadata& metadata) {
  const std::filesystem::path folder = std::filesystem::path(metadata.path()).parent_path();
  return folder.empty() ? "." : folder.string();
}

}  // namespace

bool has_tokenizer(const weights::Metadata& metadata) {
  return metadata.source() == weights::Source::kHuggingFace
             ? find_tokenizer_file(folder_of(metadata)).has_value()
             : metadata.contains("tokenizer.ggml.model");
}

std::unique_ptr<Tokenizer> make_tokenizer(const weights::Metadata& metadata) {
  if (metadata.source() == weights::Source::kHuggingFace) {
    return open_tokenizer(folder_of(metadata));
  }
  return check_tokenizer(std::make_unique<TextTokenizer>(make_gguf_pipeline(metadata)));
}

}  // namespace fathom::codec
