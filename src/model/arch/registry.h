// The table of architectures: one small file each, one line in model/arch/list.inc. Explicit,
// since static linking drops self-registered objects.
// Called by model/load. Read next: model/arch/llama.cc, model/arch/config_reader.h.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "model/arch/config_reader.h"
#include "model/config.h"
#include "model/parts.h"
#include "weights/metadata.h"

namespace fathom::model {

struct ArchSpec {
  std::string_view gguf_name;                  // general.architecture; empty: not in GGUF
  std::span<const std::string_view> hf_names;  // entries of config.json's "architectures"
  ModelConfig (*read_config)(const ConfigReader& reader) = nullptr;
  std::span<const TensorRule> tensor_rules;  // where its names differ from the common ones
};

// The architecture of a file. Error: kUnsupported naming it and the known ones.
const ArchSpec& find_arch(const weights::Metadata& metadata);

// All of them, for lists.
std::span<const std::reference_wrapper<const ArchSpec>> all_archs();

}  // namespace fathom::model
