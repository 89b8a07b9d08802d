// JSON texts of model folders turned into plain structs: the only user of simdjson.
// Called by weights/safetensors, weights/hf_folder, weights/adapter_config. Read next:
// safetensors.cc, hf_folder.cc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weights/metadata.h"

namespace fathom::weights {

// All functions: `name` is the file, for errors; texts are UTF-8 and need no padding. Errors:
// kCorruptFile with file, byte offset and key for broken JSON, wrong types and keys that stand
// twice.

// Adds every leaf of a JSON object to `metadata`, its key being `prefix` and the path joined with
// '.'. Arrays of one kind of scalar stay arrays (whole numbers beside fractions become doubles,
// [] an empty array of integers), any other array is numbered: "layers.0.kind". Infinity and NaN
// are read as Python writes them. At most 16 levels deep.
void flatten_json(std::string_view text, std::string_view name, std::string_view prefix,
                  Metadata& metadata);

// One tensor as the header of a safetensors file states it: nothing is checked but JSON types.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // data_offsets, from the end of the header
  uint64_t end = 0;
  size_t text_offset = 0;  // where the entry's value stands in the text
};

// The entries in the order of the header; "__metadata__" is skipped. At most 8 dimensions.
std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view text,
                                                       std::string_view name);

// "weight_map" of model.safetensors.index.json: tensor name to shard file name, as written there.
std::map<std::string, std::string> parse_weight_map(std::string_view text, std::string_view name);

// The numbers of the object at `key`, in the order of the text; none where the key is missing or
// null.
std::vector<std::pair<std::string, double>> parse_number_map(std::string_view text,
                                                             std::string_view name,
                                                             std::string_view key);

}  // namespace fathom::weights
