// Picks the tokenizer that a GGUF file describes and fills in what the format leaves out.
// Called by api, apps/tokenize. Read next: codec/vocabulary.cc, codec/gguf_fixups.cc.
#include "codec/tokenizer.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "codec/bpe.h"
#include "codec/gguf_fixups.h"
#include "codec/sentencepiece.h"
#include "codec/vocabulary.h"

namespace fathom::codec {

std::unique_ptr<Tokenizer> make_tokenizer(const weights::Metadata& metadata) {
  if (metadata.source() != weights::Source::kGguf) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: the tokenizer of a Hugging Face folder is not read; such a folder takes "
                     "--ids until tokenizer.json is supported",
                     metadata.path()));
  }
  const TokenizerModel model = find_model(metadata);
  const bool says_bos = metadata.contains("tokenizer.ggml.add_bos_token");
  if (model == TokenizerModel::kByteLevelBpe) {
    const PreTokenizer& pre = find_pre_tokenizer(metadata);
    Vocabulary vocabulary = read_vocabulary(metadata);
    vocabulary.add_bos = says_bos ? vocabulary.add_bos : pre.add_bos;
    vocabulary.add_space_prefix = false;  // some files set it; the byte-level reference has none
    return std::make_unique<BpeTokenizer>(metadata, std::move(vocabulary), pre);
  }
  Vocabulary vocabulary = read_vocabulary(metadata);
  vocabulary.add_bos = says_bos ? vocabulary.add_bos : true;
  const bool says_prefix = metadata.contains("tokenizer.ggml.add_space_prefix");
  vocabulary.add_space_prefix = says_prefix ? vocabulary.add_space_prefix : true;
  return std::make_unique<SentencePieceTokenizer>(metadata, std::move(vocabulary));
}

}  // namespace fathom::codec
