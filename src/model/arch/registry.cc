// The known architectures, one line each.
#include "model/arch/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"

namespace fathom::model {

extern const ArchSpec kGemma3;
extern const ArchSpec kLlama;
extern const ArchSpec kMistral;
extern const ArchSpec kQwen2;
extern const ArchSpec kQwen3;

namespace {

constexpr const ArchSpec* kArchs[] = {&kGemma3, &kLlama, &kMistral, &kQwen2, &kQwen3};

}  // namespace

const ArchSpec& find_arch(const weights::Metadata& metadata) {
  const bool from_gguf = metadata.source() == weights::Source::kGguf;
  std::string name;
  if (from_gguf) {
    name = metadata.get_string("general.architecture");
  } else {
    const auto* names = metadata.find_strings("architectures");
    if (names == nullptr || names->empty()) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: key 'architectures' is missing; it names the model's class",
                       metadata.path()));
    }
    name = names->front();
  }
  std::vector<std::string_view> known;
  for (const ArchSpec* arch : kArchs) {
    if (from_gguf && !arch->gguf_name.empty()) {
      known.push_back(arch->gguf_name);
    } else if (!from_gguf) {
      known.insert(known.end(), arch->hf_names.begin(), arch->hf_names.end());
    }
    const bool fits = from_gguf ? arch->gguf_name == name
                                : std::ranges::find(arch->hf_names, name) != arch->hf_names.end();
    if (fits && !name.empty()) {
      return *arch;
    }
  }
  fail(ErrorCode::kUnsupported, fmt::format("{}: architecture '{}' is not supported yet; known: {}",
                                            metadata.path(), name, fmt::join(known, ", ")));
}

}  // namespace fathom::model
