// Any bytes as the JSON files of a model folder: an override up to the first NUL byte, then a text
// that is read as config.json and as the index of shards.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "weights/json.h"
#include "weights/metadata_override.h"

namespace {

template <class F>
void accept_errors(F step) {
  try {
    step();
  } catch (const fathom::Error&) {
    return;
  }
}

// Looks a key up as every type.
void look_up(const fathom::weights::Metadata& metadata, std::string_view key) {
  accept_errors([&] { static_cast<void>(metadata.find_int(key)); });
  accept_errors([&] { static_cast<void>(metadata.find_double(key)); });
  accept_errors([&] { static_cast<void>(metadata.find_bool(key)); });
  accept_errors([&] { static_cast<void>(metadata.find_string(key)); });
  accept_errors([&] { static_cast<void>(metadata.find_ints(key)); });
  accept_errors([&] { static_cast<void>(metadata.find_doubles(key)); });
  accept_errors([&] { static_cast<void>(metadata.find_strings(key)); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace wt = fathom::weights;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t border = std::min(all.find('\0'), size);
  const std::string_view text = all.substr(std::min(border + 1, size));
  wt::Metadata metadata(wt::Source::kHuggingFace, "config.json");
  accept_errors([&] { wt::flatten_json(text, "config.json", "", metadata); });
  accept_errors([&] { static_cast<void>(wt::parse_weight_map(text, "index.json")); });
  accept_errors([&] { wt::apply_override(metadata, all.substr(0, border)); });
  for (const auto& [key, value] : metadata.entries()) {
    look_up(metadata, key);
    static_cast<void>(wt::format_value(value));
  }
  return 0;
}
