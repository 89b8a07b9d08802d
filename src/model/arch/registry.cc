// The known architectures, one line each.
#include "model/arch/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace fathom::model {

// model/arch/list.inc has one line per architecture; it is read once to declare the specs and once
// to collect them.
// clang-format off
extern const ArchSpec
#include "model/arch/list.inc"  // NOLINT
;

namespace {

constexpr std::reference_wrapper<const ArchSpec> kArchs[] = {
#include "model/arch/list.inc"  // NOLINT
};
// clang-format on

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
  for (const ArchSpec& arch : kArchs) {
    if (from_gguf && !arch.gguf_name.empty()) {
      known.push_back(arch.gguf_name);
    } else if (!from_gguf) {
      known.insert(known.end(), arch.hf_names.begin(), arch.hf_names.end());
    }
    const bool fits = from_gguf ? arch.gguf_name == name
                                : std::ranges::find(arch.hf_names, name) != arch.hf_names.end();
    if (fits && !name.empty()) {
      return arch;
    }
  }
  fail(ErrorCode::kUnsupported, fmt::format("{}: architecture '{}' is not supported yet; known: {}",
                                            metadata.path(), name, fmt::join(known, ", ")));
}

std::span<const std::reference_wrapper<const ArchSpec>> all_archs() {
  return kArchs;
}

}  // namespace fathom::model
