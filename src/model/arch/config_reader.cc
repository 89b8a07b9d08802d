// The keys that many families share, once for GGUF and once for config.json.
#include "model/arch/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/det_math.h"
#include "base/error.h"
#include "model/arch/rope_keys.h"

namespace fathom::model {

namespace {

using weights::Source;

constexpr int64_t kMostLayers = 4096;
constexpr int64_t kMostHeads = 4096;
constexpr int64_t kMostWidth = int64_t{1} << 24;
constexpr int64_t kMostHeadDim = 4096;  // what the attention kernels take is checked with the page
constexpr int64_t kMostContext = int64_t{1} << 30;

constexpr Key kLayers = {"num_hidden_layers|n_layer|num_layers|n_layers", "block_count"};
constexpr Key kHidden = {"hidden_size|n_embd|d_model|n_embed", "embedding_length"};
constexpr Key kContext = {"max_position_embeddings|n_positions|max_seq_len|n_ctx|seq_length",
                          "context_length"};
constexpr Key kHeads = {"num_attention_heads|n_head|num_heads|n_heads", "attention.head_count"};
constexpr Key kKvHeads = {"num_key_value_heads|num_kv_heads|n_head_kv", "attention.head_count_kv"};
constexpr Key kHeadDim = {"head_dim", "attention.key_length"};
constexpr Key kFfn = {"intermediate_size|ffn_dim|n_inner|ffn_hidden_size", "feed_forward_length"};
constexpr Key kEps = {"rms_norm_eps|layer_norm_eps|layer_norm_epsilon|norm_epsilon|norm_eps",
                      "attention.layer_norm_rms_epsilon|attention.layer_norm_epsilon"};
constexpr Key kActivation = {"hidden_act|activation_function|activation|hidden_activation"};

}  // namespace

template <class F>
auto ConfigReader::first_of(Key key, F find) const -> decltype(find(std::string())) {
  std::string_view names = is_gguf() ? key.gguf : key.hf;
  const std::string prefix =
      is_gguf() ? metadata().get_string("general.architecture") + "." : std::string();
  while (!names.empty()) {
    const size_t bar = names.find('|');
    const std::string name = prefix + std::string(names.substr(0, bar));
    if (auto value = find(name)) {
      return value;
    }
    names = bar == std::string_view::npos ? std::string_view() : names.substr(bar + 1);
  }
  return {};
}

bool ConfigReader::is_gguf() const {
  return metadata().source() == Source::kGguf;
}

bool ConfigReader::has_tensor(std::string_view name) const {
  return find_tensor(name) != nullptr;
}

const FileTensor* ConfigReader::find_tensor(std::string_view name) const {
  return file_->tensors.find(name);
}

std::optional<int64_t> ConfigReader::find_int(Key key) const {
  return first_of(key, [&](const std::string& name) { return metadata().find_int(name); });
}

std::optional<double> ConfigReader::find_real(Key key) const {
  return first_of(key, [&](const std::string& name) { return metadata().find_double(name); });
}

int64_t ConfigReader::integer(Key key, int64_t otherwise) const {
  return find_int(key).value_or(otherwise);
}

double ConfigReader::real(Key key, double otherwise) const {
  return find_real(key).value_or(otherwise);
}

bool ConfigReader::flag(Key key, bool otherwise) const {
  return first_of(key, [&](const std::string& name) { return metadata().find_bool(name); })
      .value_or(otherwise);
}

std::string ConfigReader::text(Key key, std::string_view otherwise) const {
  return first_of(key, [&](const std::string& name) { return metadata().find_string(name); })
      .value_or(std::string(otherwise));
}

const std::vector<int64_t>* ConfigReader::integers(Key key) const {
  return first_of(key, [&](const std::string& name) { return metadata().find_ints(name); });
}

std::string ConfigReader::name_for_message(Key key) const {
  std::string all;
  const auto found = first_of(key, [&](const std::string& name) {
    all += all.empty() ? name : " or " + name;
    const auto it = metadata().entries().find(name);
    const bool is_set = it != metadata().entries().end() && it->second != weights::MetadataValue();
    return is_set ? std::optional(name) : std::nullopt;
  });
  return found.value_or(all);
}

double ConfigReader::within(Key key, Range range, double otherwise) const {
  const std::optional<double> value = find_real(key);
  if (value && !range.holds(*value)) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key '{}' is {}, expected {:g} to {:g}", metadata().path(),
                     name_for_message(key), *value, range.low, range.high));
  }
  return value.value_or(otherwise);
}

double ConfigReader::factor(Key key, double otherwise) const {
  return within(key, kFactors, otherwise);
}

double ConfigReader::limit(Key key, double otherwise) const {
  return find_real(key) == 0.0 ? 0.0 : within(key, kFactors, otherwise);
}

int64_t ConfigReader::size(Key key, int64_t largest) const {
  const std::optional<int64_t> value = find_int(key);
  if (!value) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key '{}' is missing; the file is no model of its architecture or was "
                     "written by a broken converter",
                     metadata().path(), name_for_message(key)));
  }
  check_integer(key, *value, 1, largest);
  return *value;
}

void ConfigReader::check_integer(Key key, int64_t value, int64_t least, int64_t largest) const {
  if (value < least || value > largest) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key '{}' is {}, expected {} to {}", metadata().path(),
                     name_for_message(key), value, least, largest));
  }
}

int64_t ConfigReader::count(Key key, int64_t largest, int64_t otherwise) const {
  const std::optional<int64_t> value = find_int(key);
  check_integer(key, value.value_or(0), 0, largest);
  return value.value_or(otherwise);
}

int64_t ConfigReader::size(Key key, int64_t largest, int64_t otherwise) const {
  return find_int(key) ? size(key, largest) : otherwise;
}

ModelConfig ConfigReader::common() const {
  ModelConfig config;
  LayerOptions layer;
  config.family = is_gguf() ? metadata().get_string("general.architecture")
                            : metadata().find_strings("architectures")->front();
  config.n_layers = size(kLayers, kMostLayers);
  check_layer_types(config.n_layers);
  config.hidden_size = size(kHidden, kMostWidth);
  config.max_context = size(kContext, kMostContext, 2048);
  const FileTensor* embedding = find_tensor("token_embd.weight");
  config.n_vocab = size({"vocab_size", "vocab_size"}, kMostWidth,
                        embedding != nullptr ? embedding->n_rows() : 0);
  config.norm_eps = real(kEps, 1e-5);
  config.tied_head = flag({"tie_word_embeddings"}, false);
  layer.n_heads = static_cast<int>(size(kHeads, kMostHeads));
  layer.n_kv_heads = static_cast<int>(size(kKvHeads, kMostHeads, layer.n_heads));
  layer.head_dim = static_cast<int>(
      size(kHeadDim, kMostHeadDim, std::max<int64_t>(1, config.hidden_size / layer.n_heads)));
  layer.ffn_size = size(kFfn, kMostWidth, 4 * config.hidden_size);
  if (const FileTensor* down = find_tensor("blk.0.ffn_down.weight"); is_gguf() && down != nullptr) {
    layer.ffn_size = down->n_cols();  // some converters write 4 * hidden whatever the file has
  }
  layer.hidden.activation = activation(text(kActivation, "silu"));
  layer.score_scale = 1.0 / std::sqrt(static_cast<double>(layer.head_dim));
  config.layers.assign(static_cast<size_t>(config.n_layers), layer);
  config.ropes = {read_rope(*this, layer.head_dim, "rope_parameters.")};
  if (const RopeOptions& rope = config.ropes.front(); rope.scaling == RopeScaling::kDynamic) {
    // Here max_position_embeddings is the length before scaling.
    const double longest =
        std::min(static_cast<double>(kMostContext), rope.factor * rope.original_context);
    config.max_context = std::max(config.max_context, static_cast<int64_t>(longest));
  }
  return config;
}

void ConfigReader::check_layer_types(int64_t n_layers) const {
  const auto* types = metadata().find_strings("layer_types");
  if (is_gguf() || types == nullptr) {
    return;
  }
  if (static_cast<int64_t>(types->size()) != n_layers) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key 'layer_types' has {} entries, expected one for each of {} layers",
                     metadata().path(), types->size(), n_layers));
  }
  for (const std::string& type : *types) {
    if (type != "full_attention" && type != "sliding_attention") {
      refuse(fmt::format("layer type '{}' in 'layer_types'", type));
    }
  }
}

bool ConfigReader::is_sliding(int64_t layer, bool otherwise) const {
  const auto* types = metadata().find_strings("layer_types");
  if (is_gguf() || types == nullptr || layer >= static_cast<int64_t>(types->size())) {
    return otherwise;
  }
  return (*types)[static_cast<size_t>(layer)] == "sliding_attention";
}

ExpertOptions ConfigReader::experts() const {
  ExpertOptions e;
  e.n_experts = static_cast<int>(
      size({"num_experts|num_local_experts|n_routed_experts|moe_num_experts", "expert_count"},
           kMostHeads));
  e.ffn_size = size(
      {"moe_intermediate_size|intermediate_size", "expert_feed_forward_length|feed_forward_length"},
      kMostWidth);
  e.router.n_used =
      static_cast<int>(size({"num_experts_per_tok|moe_k", "expert_used_count"}, kMostHeads));
  e.router.scale =
      static_cast<float>(factor({"routed_scaling_factor", "expert_weights_scale"}, 1.0));
  e.router.renormalize = flag({"norm_topk_prob", "expert_weights_norm"}, false);
  e.router.n_groups = static_cast<int>(size({"n_group", "expert_group_count"}, kMostHeads, 1));
  e.router.groups_used =
      static_cast<int>(size({"topk_group", "expert_group_used_count"}, kMostHeads, 1));
  return e;
}

kernels::Activation ConfigReader::activation(std::string_view name) const {
  using kernels::Activation;

  struct Named {
    std::string_view name;
    Activation activation;
  };

  constexpr Named kNamed[] = {
      {"silu", Activation::kSilu},           {"swish", Activation::kSilu},
      {"gelu", Activation::kGeluErf},        {"gelu_new", Activation::kGeluTanh},
      {"gelu_fast", Activation::kGeluTanh},  {"gelu_pytorch_tanh", Activation::kGeluTanh},
      {"gelu_python", Activation::kGeluErf}, {"relu", Activation::kRelu},
      {"relu2", Activation::kRelu2},         {"quick_gelu", Activation::kQuickGelu},
  };
  for (const Named& named : kNamed) {
    if (named.name == name) {
      return named.activation;
    }
  }
  refuse(fmt::format("activation '{}'", name));
}

void ConfigReader::refuse(std::string_view what) const {
  fail(ErrorCode::kUnsupported,
       fmt::format("{}: {} is not supported yet", metadata().path(), what));
}

void set_biases(ModelConfig& config, bool qkv, bool output, bool ffn) {
  for (LayerOptions& layer : config.layers) {
    layer.qkv_bias = qkv;
    layer.output_bias = output;
    layer.ffn_bias = ffn;
  }
}

void set_layer_norms(ModelConfig& config, bool bias) {
  config.norm_kind = ops::NormKind::kLayer;
  config.norm_bias = bias;
}

void set_plain_ffn(ModelConfig& config) {
  for (LayerOptions& layer : config.layers) {
    layer.gated = false;
  }
}

void set_qk_norm(ModelConfig& config, QkNorm kind) {
  for (LayerOptions& layer : config.layers) {
    layer.qk_norm = kind;
  }
}

void set_norm_placement(ModelConfig& config, NormPlacement placement) {
  for (LayerOptions& layer : config.layers) {
    layer.norm_placement = placement;
  }
}

void set_parallel(ModelConfig& config, bool own_ffn_norm) {
  for (LayerOptions& layer : config.layers) {
    layer.parallel = true;
    layer.own_ffn_norm = own_ffn_norm;
  }
}

void set_experts(ModelConfig& config, const ExpertOptions& experts) {
  set_experts(config, experts, [](int64_t) { return false; });
}

namespace {

void drop_ropes(ModelConfig& config) {
  config.ropes.clear();
  for (LayerOptions& layer : config.layers) {
    layer.rope = -1;
  }
}

}  // namespace

void set_learned_positions(ModelConfig& config, int64_t offset) {
  drop_ropes(config);
  config.n_positions = config.max_context;
  config.position_offset = offset;
}

void set_alibi(ModelConfig& config, std::vector<float> slopes) {
  drop_ropes(config);
  config.alibi_slopes = std::move(slopes);
}

std::vector<float> alibi_slopes(int n_heads) {
  int power = 1;  // the largest power of two <= n_heads
  while (power * 2 <= n_heads) {
    power *= 2;
  }
  std::vector<float> slopes;
  for (int k = 1; k <= n_heads; ++k) {
    const double exponent =
        k <= power ? -8.0 * k / power : -4.0 * (2.0 * (k - power) - 1.0) / power;
    slopes.push_back(static_cast<float>(det_pow(2.0, exponent)));
  }
  return slopes;
}

}  // namespace fathom::model
