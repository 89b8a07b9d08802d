// Names of weights by their content, for the keys of cached pages: pages that one model or adapter
// has computed never fit another.
// Called by api/session. Read next: content_id.cc, kv/prefix_key.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "weights/adapter.h"
#include "weights/model_file.h"

namespace fathom::api {

// An adapter as it is applied.
struct AppliedAdapter {
  const weights::Adapter* adapter = nullptr;
  std::string folder;
  double scale = 1.0;
  bool is_merged = false;  // into float weights, which rounds otherwise
};

// Of the keys as they are (overrides included), every tensor's name, type and shape, and 256 places
// of each file: models that differ in training differ in all of them, and reading gigabytes for a
// name would not pay. Where the file lies and when it was written does not count. Error: kNotFound,
// kCorruptFile for a file that cannot be read any more.
std::string model_content_id(const weights::ModelFile& file);

// Of every byte of their files, in their order, with their scales; "" for none. Errors as above.
std::string adapter_content_id(std::span<const AppliedAdapter> adapters);

// SHA-256 of a text, as 64 hexadecimal digits.
std::string text_content_id(std::string_view text);

}  // namespace fathom::api
