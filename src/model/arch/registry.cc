// The known architectures, one line each.
#include "model/arch/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace fathom::model {

extern const ArchSpec kBloom;
extern const ArchSpec kCohere;
extern const ArchSpec kCohere2;
extern const ArchSpec kDeepseek;
extern const ArchSpec kErnie45;
extern const ArchSpec kExaone4;
extern const ArchSpec kFalcon;
extern const ArchSpec kGemma;
extern const ArchSpec kGemma2;
extern const ArchSpec kGemma3;
extern const ArchSpec kGlm;
extern const ArchSpec kGlm4;
extern const ArchSpec kGlm4Moe;
extern const ArchSpec kGpt2;
extern const ArchSpec kGptBigcode;
extern const ArchSpec kGptNeo;
extern const ArchSpec kGptNeox;
extern const ArchSpec kGptOss;
extern const ArchSpec kGptj;
extern const ArchSpec kGranite;
extern const ArchSpec kGranitemoe;
extern const ArchSpec kHunyuan;
extern const ArchSpec kLlama;
extern const ArchSpec kMinicpm3;
extern const ArchSpec kMistral;
extern const ArchSpec kMixtral;
extern const ArchSpec kMpt;
extern const ArchSpec kNemotron;
extern const ArchSpec kOlmo;
extern const ArchSpec kOlmo2;
extern const ArchSpec kOlmoe;
extern const ArchSpec kOpt;
extern const ArchSpec kPhi;
extern const ArchSpec kPhi3;
extern const ArchSpec kPhimoe;
extern const ArchSpec kQwen2;
extern const ArchSpec kQwen2Moe;
extern const ArchSpec kQwen3;
extern const ArchSpec kQwen3Moe;
extern const ArchSpec kSeedOss;
extern const ArchSpec kSmollm3;
extern const ArchSpec kStablelm;
extern const ArchSpec kStarcoder2;

namespace {

constexpr const ArchSpec* kArchs[] = {
    &kBloom,      &kCohere,   &kCohere2,  &kDeepseek, &kErnie45, &kExaone4, &kFalcon,
    &kGemma,      &kGemma2,   &kGemma3,   &kGlm,      &kGlm4,    &kGlm4Moe, &kGpt2,
    &kGptBigcode, &kGptNeo,   &kGptNeox,  &kGptOss,   &kGptj,    &kGranite, &kGranitemoe,
    &kHunyuan,    &kLlama,    &kMinicpm3, &kMistral,  &kMixtral, &kMpt,     &kNemotron,
    &kOlmo,       &kOlmo2,    &kOlmoe,    &kOpt,      &kPhi,     &kPhi3,    &kPhimoe,
    &kQwen2,      &kQwen2Moe, &kQwen3,    &kQwen3Moe, &kSeedOss, &kSmollm3, &kStablelm,
    &kStarcoder2};

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

std::span<const ArchSpec* const> all_archs() {
  return kArchs;
}

}  // namespace fathom::model
