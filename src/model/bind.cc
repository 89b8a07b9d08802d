// From part, layout and shape to views, and the report of everything that does not fit.
#include "model/bind.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "base/error.h"
#include "quant/formats.h"

namespace fathom::model {

namespace {

using weights::Source;

std::string with_number(std::string_view text, std::string_view mark, int64_t number) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) {
    return std::string(text);
  }
  return fmt::format("{}{}{}", text.substr(0, at), number, text.substr(at + mark.size()));
}

RowPlace qkv_place(Part part, Layout layout, const LayerOptions& o) {
  const int64_t head = o.head_dim;
  const int64_t group = o.n_heads / o.n_kv_heads;
  RowPlace place;
  place.tensor_rows = o.q_size() + 2 * o.kv_size();
  if (layout == Layout::kQkvBlocks) {
    place.first = part == Part::kQ ? 0 : o.q_size() + (part == Part::kV ? o.kv_size() : 0);
    return place;
  }
  const int64_t q_heads = layout == Layout::kQkvHeads ? 1 : group;
  place.step = (q_heads + 2) * head;
  place.run = part == Part::kQ ? q_heads * head : head;
  place.first = part == Part::kQ ? 0 : (q_heads + (part == Part::kV ? 1 : 0)) * head;
  return place;
}

RowPlace gate_up_place(Part part, Layout layout, int64_t n_rows) {
  const bool is_gate = part == Part::kGate || part == Part::kExpertGate;
  RowPlace place;
  place.tensor_rows = 2 * n_rows;
  if (layout == Layout::kGateUpBlocks) {
    place.first = is_gate ? 0 : n_rows;
  } else {
    place.step = 2;
    place.first = is_gate ? 0 : 1;
  }
  return place;
}

// "model.layers.61.x" of a model with 61 layers and prediction layers behind them.
bool is_extra_layer(std::string_view name, const ModelConfig& config) {
  for (int64_t i = config.n_layers; i < config.n_layers + config.n_extra_layers; ++i) {
    for (const std::string_view pattern : {"model.layers.{i}.", "blk.{i}."}) {
      if (name.starts_with(name_of(pattern, i, 0))) {
        return true;
      }
    }
  }
  return false;
}

// Tensors that files carry and no engine needs.
bool is_ignorable(std::string_view name, const ModelConfig& config) {
  const bool is_buffer = name.ends_with("rotary_emb.inv_freq") || name.ends_with(".attn.bias") ||
                         name.ends_with(".attn.masked_bias") || name.ends_with(".attention.bias") ||
                         name.ends_with(".attention.masked_bias") ||
                         name.ends_with(".attention.rotary_emb.inv_freq");
  return is_buffer || is_extra_layer(name, config) ||
         (config.tied_head &&
          (name == "lm_head.weight" || name == "output.weight" || name == "embed_out.weight"));
}

// Collects bindings and complaints.
class Binder {
 public:
  Binder(const weights::ModelFile& file, std::span<const TensorRule> rules,
         const ModelConfig& config)
      : file_(&file), config_(&config) {
    for (int i = 0; i < kNumParts; ++i) {
      FilePlace& place = places_.at(static_cast<size_t>(i));
      place = place_of(file.metadata.source(), rules, static_cast<Part>(i));
      choose_name(place);
    }
    if (file.tensors.find("blk.0.attn_kv_b.weight") != nullptr) {  // older GGUF files: both in one
      for (const Part part : {Part::kKB, Part::kVB}) {
        places_.at(static_cast<size_t>(part)) = {"blk.{i}.attn_kv_b.weight", Layout::kLatentHeads};
      }
    }
    drop_prefix();
  }

  [[nodiscard]] const FilePlace& place(Part part) const {
    return places_.at(static_cast<size_t>(part));
  }

  [[nodiscard]] const FileTensor* find(Part part, int64_t layer) const {
    const std::string_view name = place(part).name;
    return name.empty() ? nullptr : file_->tensors.find(name_of(name, layer, 0));
  }

  // Of names "a|b" the first whose first tensor is there; the last if none is.
  void choose_name(FilePlace& place) const {
    for (size_t bar = place.name.find('|'); bar != std::string_view::npos;
         bar = place.name.find('|')) {
      const std::string_view first = place.name.substr(0, bar);
      if (file_->tensors.find(name_of(first, 0, 0)) != nullptr) {
        place.name = first;
        return;
      }
      place.name.remove_prefix(bar + 1);
    }
  }

  // Checkpoints saved from the bare trunk lack the first word of every name ("transformer.").
  void drop_prefix() {
    const std::string_view embedding = place(Part::kEmbedding).name;
    const size_t dot = embedding.find('.');
    const std::string_view word = embedding.substr(0, dot + 1);
    if (file_->metadata.source() == Source::kGguf || file_->tensors.find(embedding) != nullptr ||
        file_->tensors.find(embedding.substr(word.size())) == nullptr) {
      return;
    }
    for (FilePlace& place : places_) {
      if (place.name.starts_with(word)) {
        place.name.remove_prefix(word.size());
      }
    }
  }

  [[nodiscard]] bool has_bias(Part part, int64_t layer) const {
    const std::string_view name = place(part).name;
    return !name.empty() && file_->tensors.find(bias_name(name_of(name, layer, 0))) != nullptr;
  }

  // `layer` is null for parts of the model.
  BoundPart bind(Part part, int64_t index, const LayerOptions* layer, const PartWant& want) {
    BoundPart bound;
    if (!want.needed) {
      return bound;
    }
    const FilePlace& at = place(part);
    if (at.name.empty()) {
      complain(fmt::format("this kind of file has no name for a part that the config asks for ({})",
                           static_cast<int>(part)));
      return bound;
    }
    if (at.layout == Layout::kLatentHeads) {
      bind_latent(part, index, *layer, want, bound);
    } else if (at.name.find("{e}") != std::string_view::npos) {
      bind_each(part, index, layer, want, bound);
    } else {
      bind_whole(part, index, layer, want, bound);
    }
    return bound;
  }

  void report() {
    for (const auto& [name, tensor] : file_->tensors.tensors()) {
      if (!used_.contains(name) && !is_ignorable(name, *config_)) {
        complain(fmt::format("{}: {} is no part of this architecture", name,
                             format_shape(tensor.shape)));
      }
    }
    if (n_complaints_ == 0) {
      return;
    }
    const size_t hidden = n_complaints_ - complaints_.size();
    fail(
        ErrorCode::kCorruptFile,
        fmt::format("{}: {} tensors do not fit the architecture '{}': {}{}", file_->metadata.path(),
                    n_complaints_, config_->family, fmt::join(complaints_, "; "),
                    hidden > 0 ? fmt::format("; and {} more", hidden) : ""));
  }

 private:
  // Quantized rows always lie [out, in], also where the floats of the same family are transposed.
  [[nodiscard]] bool has_block_rows(const std::string& name) const {
    const FileTensor* tensor = file_->tensors.find(name);
    return tensor != nullptr && quant::format_of(tensor->type).values_per_block > 1;
  }

  // The tensor if it is there with this shape. A row vector may also be stored as [1, n].
  const FileTensor* fetch(const std::string& name, const std::vector<int64_t>& shape) {
    const FileTensor* tensor = file_->tensors.find(name);
    if (tensor == nullptr) {
      if (missing_.insert(name).second) {
        complain(fmt::format("{}: missing, expected {}", name, format_shape(shape)));
      }
      return nullptr;
    }
    used_.insert(name);
    std::vector<int64_t> longer = shape;
    longer.insert(longer.begin(), 1);
    if (tensor->shape != shape && (shape.size() != 1 || tensor->shape != longer)) {
      complain(fmt::format("{}: found {}, expected {}", name, format_shape(tensor->shape),
                           format_shape(shape)));
      return nullptr;
    }
    if (tensor->type >= DType::kI8) {
      complain(
          fmt::format("{}: type {} is not a weight type", name, fathom::name_of(tensor->type)));
      return nullptr;
    }
    return tensor;
  }

  // A single matrix or vector, or a stack in one tensor.
  void bind_whole(Part part, int64_t index, const LayerOptions* layer, const PartWant& want,
                  BoundPart& bound) {
    const FilePlace& at = place(part);
    const std::string name = name_of(at.name, index, 0);
    const bool transposed = at.transposed && !has_block_rows(name);
    const RowPlace rows = place_rows(part, at.layout, want, layer);
    std::vector<int64_t> shape = {rows.tensor_rows, want.n_cols};
    if (transposed) {
      std::swap(shape[0], shape[1]);
    } else if (rows.tensor_rows == 1) {
      shape.erase(shape.begin());
    }
    std::vector<int64_t> bias_shape = {want.n_rows == 1 ? want.n_cols : rows.tensor_rows};
    if (want.count > 0) {
      shape.insert(shape.begin(), want.count);
      bias_shape.insert(bias_shape.begin(), want.count);
    }
    const FileTensor* tensor = fetch(name, shape);
    const FileTensor* bias = want.bias ? fetch(bias_name(name), bias_shape) : nullptr;
    for (int64_t item = 0; item < std::max<int64_t>(1, want.count); ++item) {
      MatrixView view = {tensor,   want.n_rows, want.n_cols, rows.first,
                         rows.run, rows.step,   transposed,  0};
      if (transposed) {
        view.origin = item * want.n_cols;
      } else {
        view.first += item * rows.tensor_rows;
      }
      bound.weights.push_back(view);
      if (want.bias) {
        bound.biases.push_back(bias_view(bias, want, rows, item));
      }
    }
  }

  // A bias is seen as a column of n_rows one-element rows, so that the rows' places hold for it.
  static MatrixView bias_view(const FileTensor* tensor, const PartWant& want, const RowPlace& rows,
                              int64_t item) {
    if (want.n_rows == 1) {
      return {tensor, 1, want.n_cols};
    }
    return {tensor, want.n_rows, 1, rows.first + item * rows.tensor_rows, rows.run, rows.step};
  }

  // One tensor per expert or head. Norms of each head become rows of one matrix.
  void bind_each(Part part, int64_t index, const LayerOptions* layer, const PartWant& want,
                 BoundPart& bound) {
    const bool norms = want.count == 0;
    PartWant one = want;
    one.count = 0;
    one.n_rows = norms ? 1 : want.n_rows;
    const FilePlace& at = place(part);
    const RowPlace rows = place_rows(part, at.layout, one, layer);
    const int64_t count = norms ? want.n_rows : want.count;
    for (int64_t item = 0; item < count; ++item) {
      const std::string name = name_of(at.name, index, item);
      const bool transposed = at.transposed && !has_block_rows(name);
      std::vector<int64_t> shape = {rows.tensor_rows, want.n_cols};
      if (transposed) {
        std::swap(shape[0], shape[1]);
      } else if (rows.tensor_rows == 1) {
        shape.erase(shape.begin());
      }
      bound.weights.push_back({fetch(name, shape), one.n_rows, want.n_cols, rows.first, rows.run,
                               rows.step, transposed, 0});
      if (want.bias) {
        const FileTensor* bias =
            fetch(bias_name(name), {one.n_rows == 1 ? want.n_cols : rows.tensor_rows});
        bound.biases.push_back(bias_view(bias, one, rows, 0));
      }
    }
  }

  // kv_b_proj [n_heads * (nope + value), kv_rank]: its k rows are read transposed, so that the nope
  // part of a query can be brought into the latent space.
  void bind_latent(Part part, int64_t index, const LayerOptions& layer, const PartWant& want,
                   BoundPart& bound) {
    const LatentOptions& latent = *layer.latent;
    const int64_t per_head = latent.nope_dim + latent.value_dim;
    const FileTensor* tensor =
        fetch(name_of(place(part).name, index, 0), {layer.n_heads * per_head, latent.kv_rank});
    for (int64_t head = 0; head < layer.n_heads; ++head) {
      MatrixView view = {tensor, want.n_rows, want.n_cols};
      if (part == Part::kKB) {
        view.transposed = true;
        view.origin = head * per_head;
      } else {
        view.first = head * per_head + latent.nope_dim;
      }
      bound.weights.push_back(view);
    }
  }

  void complain(std::string text) {
    ++n_complaints_;
    if (complaints_.size() < 20) {
      complaints_.push_back(std::move(text));
    }
  }

  const weights::ModelFile* file_;
  const ModelConfig* config_;
  std::array<FilePlace, kNumParts> places_;
  std::set<std::string, std::less<>> used_;
  std::set<std::string, std::less<>> missing_;
  std::vector<std::string> complaints_;
  size_t n_complaints_ = 0;
};

// GGUF metadata says nothing about tied heads, biases and llama3 divisors: the tensor list does.
void read_presence(const Binder& binder, ModelConfig& config) {
  config.tied_head = binder.find(Part::kHead, 0) == nullptr;
  config.head_bias = !config.tied_head && binder.has_bias(Part::kHead, 0);
  for (RopeOptions& rope : config.ropes) {
    rope.file_divisors = binder.find(Part::kRopeDivisors, 0) != nullptr;
  }
  for (int64_t i = 0; i < config.n_layers; ++i) {
    LayerOptions& layer = config.layers[static_cast<size_t>(i)];
    layer.qkv_bias = binder.has_bias(layer.latent ? Part::kKvA : Part::kQ, i);
    layer.output_bias = binder.has_bias(Part::kOutput, i);
    layer.ffn_bias = binder.has_bias(Part::kDown, i);
    if (layer.experts) {
      layer.experts->bias = binder.has_bias(Part::kExpertDown, i);
      layer.experts->router_bias = binder.has_bias(Part::kRouter, i);
      layer.experts->correction_bias = binder.find(Part::kCorrection, i) != nullptr;
    }
  }
}

}  // namespace

RowPlace place_rows(Part part, Layout layout, const PartWant& want, const LayerOptions* layer) {
  switch (layout) {
    case Layout::kQkvBlocks:
    case Layout::kQkvHeads:
    case Layout::kQkvGroups:
      return qkv_place(part, layout, *layer);
    case Layout::kGateUpBlocks:
    case Layout::kGateUpPairs:
      return gate_up_place(part, layout, want.n_rows);
    default: {
      RowPlace place;
      place.tensor_rows = want.n_rows;
      return place;
    }
  }
}

FilePlace place_of(weights::Source source, std::span<const TensorRule> rules, Part part) {
  FilePlace place;
  const bool gguf = source == Source::kGguf;
  for (const std::span<const TensorRule> list : {common_rules(), rules}) {
    for (const TensorRule& rule : list) {
      if (rule.holds(part)) {
        place = gguf ? rule.gguf : rule.hf;
      }
    }
  }
  return place;
}

std::string name_of(std::string_view pattern, int64_t layer, int64_t item) {
  return with_number(with_number(pattern, "{i}", layer), "{e}", item);
}

std::string bias_name(std::string_view weight_name) {
  constexpr std::string_view kWeight = ".weight";
  if (weight_name.ends_with(kWeight)) {
    return fmt::format("{}.bias", weight_name.substr(0, weight_name.size() - kWeight.size()));
  }
  return fmt::format("{}_bias", weight_name);
}

Bindings bind_tensors(const weights::ModelFile& file, std::span<const TensorRule> rules,
                      ModelConfig& config) {
  Binder binder(file, rules, config);
  if (file.metadata.source() == Source::kGguf) {
    read_presence(binder, config);
  }
  Bindings bindings;
  bindings.layers.resize(static_cast<size_t>(config.n_layers));
  for (int index = 0; index < kNumParts; ++index) {
    const auto part = static_cast<Part>(index);
    const auto slot = static_cast<size_t>(index);
    if (!is_per_layer(part)) {
      bindings.model.at(slot) = binder.bind(part, 0, nullptr, want_of_model(part, config));
      continue;
    }
    for (int64_t i = 0; i < config.n_layers; ++i) {
      const LayerOptions& layer = config.layers[static_cast<size_t>(i)];
      bindings.layers[static_cast<size_t>(i)].at(slot) =
          binder.bind(part, i, &layer, want_of_layer(part, config, layer));
    }
  }
  binder.report();
  return bindings;
}

}  // namespace fathom::model
