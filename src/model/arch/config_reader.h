// Reads a model's config under the keys of GGUF or of config.json, whose names for one thing differ
// from family to family: every question names all of them, "a|b|c", the first that is there wins.
// Called by model/arch/*. Read next: model/arch/llama.cc, model/arch/rope_keys.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/config.h"
#include "weights/model_file.h"

namespace fathom::model {

// Names of one value: in config.json, and in GGUF without the "<architecture>." before it. An empty
// name: files of that kind do not have it.
struct Key {
  std::string_view hf;
  std::string_view gguf = {};
};

class ConfigReader {
 public:
  explicit ConfigReader(const weights::ModelFile& file) : file_(&file) {}

  [[nodiscard]] bool is_gguf() const;

  [[nodiscard]] const weights::Metadata& metadata() const { return file_->metadata; }

  // GGUF says much only by having a tensor.
  [[nodiscard]] bool has_tensor(std::string_view name) const;

  // null when there is none.
  [[nodiscard]] const FileTensor* find_tensor(std::string_view name) const;

  // Values with a default. Error: kCorruptFile for a value of another type.
  [[nodiscard]] std::optional<int64_t> find_int(Key key) const;
  [[nodiscard]] std::optional<double> find_real(Key key) const;
  [[nodiscard]] int64_t integer(Key key, int64_t otherwise) const;
  [[nodiscard]] double real(Key key, double otherwise) const;
  [[nodiscard]] bool flag(Key key, bool otherwise) const;
  [[nodiscard]] std::string text(Key key, std::string_view otherwise) const;
  [[nodiscard]] const std::vector<int64_t>* integers(Key key) const;

  // A number that `range` holds; `otherwise`, which need not lie there, where the file has none.
  // Error: kCorruptFile naming key, found and allowed.
  [[nodiscard]] double within(Key key, Range range, double otherwise) const;

  // A factor (kFactors), and a limit whose 0 means none.
  [[nodiscard]] double factor(Key key, double otherwise) const;
  [[nodiscard]] double limit(Key key, double otherwise) const;

  // A size from 1 to `largest`; the second form has a default. Error: kCorruptFile naming key,
  // found and allowed.
  [[nodiscard]] int64_t size(Key key, int64_t largest) const;
  [[nodiscard]] int64_t size(Key key, int64_t largest, int64_t otherwise) const;

  // A number of things from 0 to `largest`. Error: kCorruptFile, as for size.
  [[nodiscard]] int64_t count(Key key, int64_t largest, int64_t otherwise) const;

  // Sizes, eps, activation, rope, all layers alike, pre-norm, gated: what a family's file starts
  // from. Tied head false unless the file says otherwise. Errors: kCorruptFile (a missing or absurd
  // size), kUnsupported (an activation or rope scaling that is not there, named).
  [[nodiscard]] ModelConfig common() const;

  // True where config.json's layer_types says sliding_attention; `otherwise` without that key.
  [[nodiscard]] bool is_sliding(int64_t layer, bool otherwise) const;

  // The experts' sizes and the router's numbers; kind and what is special is the family's.
  [[nodiscard]] ExpertOptions experts() const;

  // The same activation names in every family.
  [[nodiscard]] kernels::Activation activation(std::string_view name) const;

  // Error: kUnsupported "<file>: <what> is not supported yet".
  [[noreturn]] void refuse(std::string_view what) const;

 private:
  // The name under which the file has a value; all that were looked for if it has none of them.
  [[nodiscard]] std::string name_for_message(Key key) const;

  // Error: kCorruptFile naming key, found and allowed.
  void check_integer(Key key, int64_t value, int64_t least, int64_t largest) const;

  // layer_types, where it is there, has one known name per layer. Errors: kCorruptFile,
  // kUnsupported.
  void check_layer_types(int64_t n_layers) const;

  template <class F>
  auto first_of(Key key, F find) const -> decltype(find(std::string()));

  const weights::ModelFile* file_;
};

// Every layer with its index.
template <class F>
void for_each_layer(ModelConfig& config, F fn) {
  for (int64_t i = 0; i < config.n_layers; ++i) {
    fn(i, config.layers[static_cast<size_t>(i)]);
  }
}

// Biases of config.json's families (GGUF's tensor list tells them by itself).
void set_biases(ModelConfig& config, bool qkv, bool output, bool ffn);

// Up and down without a gate.
void set_plain_ffn(ModelConfig& config);

void set_qk_norm(ModelConfig& config, QkNorm kind);

void set_norm_placement(ModelConfig& config, NormPlacement placement);

// Both branches of the same x; `own_ffn_norm`: each with a norm of its own.
void set_parallel(ModelConfig& config, bool own_ffn_norm);

// Layer norms in place of RMS norms, with or without bias.
void set_layer_norms(ModelConfig& config, bool bias);

// Windows of `window` tokens where `reader` or `is_local(i)` says so; 0 or absent: none.
template <class F>
void set_windows(ModelConfig& config, const ConfigReader& reader, int64_t window, F is_local) {
  for_each_layer(config, [&](int64_t i, LayerOptions& layer) {
    layer.window = reader.is_sliding(i, is_local(i)) ? window : 0;
  });
}

// A mixture in every layer but those where `is_dense(i)`.
template <class F>
void set_experts(ModelConfig& config, const ExpertOptions& experts, F is_dense) {
  for_each_layer(config, [&](int64_t i, LayerOptions& layer) {
    if (!is_dense(i)) {
      layer.experts = experts;
    }
  });
}

void set_experts(ModelConfig& config, const ExpertOptions& experts);

// A learned vector per position in place of rotations; position p is row p + offset.
void set_learned_positions(ModelConfig& config, int64_t offset);

// A bias of slope * distance on the scores in place of rotations.
void set_alibi(ModelConfig& config, std::vector<float> slopes);

// 2^(-8 k / m) and what lies between for n heads. Source: arXiv 2108.12409, section 3.
std::vector<float> alibi_slopes(int n_heads);

}  // namespace fathom::model
