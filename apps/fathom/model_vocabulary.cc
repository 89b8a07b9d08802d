// Goes by what the path is.
#include "model_vocabulary.h"

#include <fmt/format.h>

#include "api/overrides.h"
#include "codec/tokenizer_files.h"
#include "command.h"
#include "weights/model_file.h"

namespace fathom::app {

std::unique_ptr<codec::Tokenizer> open_vocabulary(const std::string& path,
                                                  const std::vector<std::string>& overrides) {
  if (!codec::is_gguf(path)) {
    if (!overrides.empty()) {
      throw UsageError(fmt::format(
          "{}: --override changes keys of a GGUF file; a tokenizer's files are edited", path));
    }
    return codec::open_tokenizer(path);
  }
  const auto file = weights::open_model(path);
  api::apply_overrides(*file, overrides);
  return codec::make_tokenizer(file->metadata);
}

}  // namespace fathom::app
