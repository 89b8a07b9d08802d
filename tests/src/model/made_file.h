// A model file made in memory, tensor by tensor, whose numbers tell where they lie: element (r, c)
// of a tensor is 1000 r + c.
// Called by tests of binding and packing.
#pragma once

#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "model/arch/config_reader.h"
#include "model/matrix_view.h"
#include "weights/model_file.h"

namespace fathom::test {

class MadeFile {
 public:
  explicit MadeFile(weights::Source source = weights::Source::kHuggingFace)
      : file_{weights::Metadata(
                  source, source == weights::Source::kGguf ? "model.gguf" : "model/config.json"),
              {}} {}

  MadeFile(MadeFile&&) noexcept = default;
  MadeFile& operator=(MadeFile&&) noexcept = default;
  MadeFile(const MadeFile&) = delete;  // the tensors view the bytes
  MadeFile& operator=(const MadeFile&) = delete;
  ~MadeFile() = default;

  MadeFile& set(std::string key, weights::MetadataValue value) {
    file_.metadata.set(std::move(key), std::move(value));
    return *this;
  }

  // The numbers described above.
  MadeFile& add(const std::string& name, std::vector<int64_t> shape) {
    FileTensor tensor;
    tensor.shape = shape;
    std::vector<float> values(static_cast<size_t>(tensor.n_elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      const auto n_cols = static_cast<size_t>(tensor.n_cols());
      values[i] = static_cast<float>(1000 * (i / n_cols) + i % n_cols);
    }
    return add(name, std::move(shape), values);
  }

  MadeFile& add(const std::string& name, std::vector<int64_t> shape,
                const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return add(name, DType::kF32, std::move(shape), std::move(bytes));
  }

  MadeFile& add(const std::string& name, DType type, std::vector<int64_t> shape,
                std::vector<std::byte> bytes) {
    bytes_.push_back(std::move(bytes));
    FileTensor tensor;
    tensor.name = name;
    tensor.type = type;
    tensor.shape = std::move(shape);
    tensor.bytes = bytes_.back();
    file_.tensors.add(std::move(tensor), nullptr);
    return *this;
  }

  MadeFile& remove(const std::string& name) {
    file_.tensors.remove(name);
    return *this;
  }

  // The same tensor under another name.
  MadeFile& rename(const std::string& name, const std::string& other) {
    FileTensor tensor = file_.tensors.remove(name);
    tensor.name = other;
    file_.tensors.add(std::move(tensor), nullptr);
    return *this;
  }

  [[nodiscard]] const weights::ModelFile& file() const { return file_; }

  [[nodiscard]] weights::ModelFile& file() { return file_; }

 private:
  weights::ModelFile file_;
  std::deque<std::vector<std::byte>> bytes_;
};

// The file rows (transposed: file columns) that a view of such a tensor reads, by its numbers.
inline std::vector<int64_t> rows_read(const model::MatrixView& view) {
  const std::vector<float> values = model::read_floats(view);
  std::vector<int64_t> rows;
  for (size_t i = 0; i < values.size(); i += static_cast<size_t>(view.n_cols)) {
    const auto value = static_cast<int64_t>(values[i]);
    rows.push_back(view.transposed ? value % 1000 : value / 1000);
  }
  return rows;
}

// One Llama layer without its file: hidden 8, 2 heads over 1 KV head of 4, ffn 6, 10 tokens.
inline model::ModelConfig small_config() {
  model::ModelConfig config;
  config.family = "Small";
  config.n_layers = 1;
  config.hidden_size = 8;
  config.n_vocab = 10;
  model::LayerOptions layer;
  layer.n_heads = 2;
  layer.n_kv_heads = 1;
  layer.head_dim = 4;
  layer.ffn_size = 6;
  layer.score_scale = 0.5;
  config.layers = {layer};
  model::RopeOptions rope;
  rope.rotary_dim = 4;
  config.ropes = {rope};
  return config;
}

// Its tensors under config.json's names.
inline MadeFile small_file() {
  MadeFile file;
  file.add("model.embed_tokens.weight", {10, 8}).add("lm_head.weight", {10, 8});
  file.add("model.norm.weight", {8});
  const std::string layer = "model.layers.0.";
  file.add(layer + "input_layernorm.weight", {8});
  file.add(layer + "post_attention_layernorm.weight", {8});
  file.add(layer + "self_attn.q_proj.weight", {8, 8});
  file.add(layer + "self_attn.k_proj.weight", {4, 8});
  file.add(layer + "self_attn.v_proj.weight", {4, 8});
  file.add(layer + "self_attn.o_proj.weight", {8, 8});
  file.add(layer + "mlp.gate_proj.weight", {6, 8});
  file.add(layer + "mlp.up_proj.weight", {6, 8});
  file.add(layer + "mlp.down_proj.weight", {8, 6});
  return file;
}

}  // namespace fathom::test
