// Tells a folder from a file and calls the reader of its format.
// Called by model/load, codec, apps. Read next: weights/gguf_split.cc, weights/hf_folder.cc.
#include "weights/model_file.h"

#include <filesystem>
#include <system_error>

#include "weights/gguf_split.h"
#include "weights/hf_folder.h"

namespace fathom::weights {

std::unique_ptr<ModelFile> open_model(const std::string& path) {
  std::error_code error;  // a path that cannot be looked at fails with a message in open_gguf
  if (std::filesystem::is_directory(path, error)) {
    const size_t end = path.find_last_not_of('/');
    return open_hf_folder(end == std::string::npos ? path : path.substr(0, end + 1));
  }
  return open_gguf(path);
}

}  // namespace fathom::weights
