// Tells a folder from a file and calls the reader of its format.
// Called by model/load, codec, apps. Read next: weights/gguf.cc, weights/hf_folder.cc.
#include "weights/model_file.h"

#include <filesystem>
#include <system_error>

#include "weights/gguf.h"

namespace fathom::weights {

std::unique_ptr<ModelFile> open_model(const std::string& path) {
  return open_gguf(path);
}

}  // namespace fathom::weights
