// A tiny random decoder, built in memory as a GGUF, and everything needed to run it.
// Called by tests of model and engine (both link fathom_engine or below). The values are random:
// tests compare runs with each other; tools/check_oracle.py compares with a reference.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kv/page_table.h"
#include "model/load.h"
#include "model/model.h"
#include "ops/cpu_backend.h"
#include "quant/formats.h"
#include "support/gguf_builder.h"

namespace fathom::test {

struct TinySizes {
  std::string arch = "llama";
  int n_layers = 2;
  int hidden = 64;
  int n_heads = 4;
  int n_kv_heads = 2;
  int head_dim = 16;
  int ffn = 96;
  int n_vocab = 160;
  int window = 0;  // gemma3 only
  DType weight_type = DType::kF32;
  uint32_t seed = 1;
};

// Random bytes of `type` whose scales are small and finite; F32 values lie in -0.5 to 0.5.
inline std::vector<std::byte> random_weights(DType type, int64_t n_values, std::mt19937& random) {
  const quant::Format& format = quant::format_of(type);
  std::vector<std::byte> bytes(static_cast<size_t>(quant::row_bytes(type, n_values)));
  if (type == DType::kF32) {
    // By integers: the same bits with every standard library, so that goldens may depend on them.
    for (size_t i = 0; i < bytes.size(); i += 4) {
      const float value = static_cast<float>(static_cast<int>(random() % 2049) - 1024) / 2048.0F;
      std::memcpy(bytes.data() + i, &value, 4);
    }
    return bytes;
  }
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  if (format.values_per_block == 1) {  // F16, BF16: exponents near 1/4
    for (size_t i = 0; i < bytes.size(); i += 2) {
      const uint16_t base = type == DType::kBF16 ? 0x3e00 : 0x3000;
      const auto value = static_cast<uint16_t>(base | (random() & 0x807f));
      std::memcpy(bytes.data() + i, &value, 2);
    }
    return bytes;
  }
  std::vector<int> scale_offsets = {0};
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      scale_offsets = {0, 2};
      break;
    case DType::kQ2_K:
      scale_offsets = {80, 82};
      break;
    case DType::kQ3_K:
      scale_offsets = {108};
      break;
    case DType::kQ6_K:
      scale_offsets = {208};
      break;
    default:
      break;
  }
  for (size_t block = 0; block < bytes.size();
       block += static_cast<size_t>(format.bytes_per_block)) {
    for (const int offset : scale_offsets) {
      const auto scale =
          static_cast<uint16_t>(0x1400 | (random() & 0x3ff));  // about 0.001 to 0.002
      std::memcpy(bytes.data() + block + static_cast<size_t>(offset), &scale, 2);
    }
  }
  return bytes;
}

inline GgufBuilder tiny_gguf(const TinySizes& s) {
  std::mt19937 random(s.seed);
  GgufBuilder b;
  const auto key = [&s](const char* name) { return s.arch + "." + name; };
  b.set("general.architecture", s.arch);
  b.set(key("block_count"), static_cast<uint32_t>(s.n_layers));
  b.set(key("embedding_length"), static_cast<uint32_t>(s.hidden));
  b.set(key("context_length"), uint32_t{4096});
  b.set(key("vocab_size"), static_cast<uint32_t>(s.n_vocab));
  b.set(key("feed_forward_length"), static_cast<uint32_t>(s.ffn));
  b.set(key("attention.head_count"), static_cast<uint32_t>(s.n_heads));
  b.set(key("attention.head_count_kv"), static_cast<uint32_t>(s.n_kv_heads));
  b.set(key("attention.key_length"), static_cast<uint32_t>(s.head_dim));
  b.set(key("rope.dimension_count"), static_cast<uint32_t>(s.head_dim));
  b.set(key("attention.layer_norm_rms_epsilon"), 1e-5F);
  b.set(key("rope.freq_base"), 10000.0F);
  if (s.window > 0) {
    b.set(key("attention.sliding_window"), static_cast<uint32_t>(s.window));
  }
  const auto matrix = [&](const std::string& name, int rows, int cols) {
    const int64_t shape[] = {rows, cols};
    b.add_tensor(name, s.weight_type, shape,
                 random_weights(s.weight_type, int64_t{rows} * cols, random));
  };
  const auto vector = [&](const std::string& name, int size) {
    std::vector<float> values(static_cast<size_t>(size));
    std::ranges::generate(values, [&] {  // near one
      return 0.75F + static_cast<float>(random() % 1024) / 2048.0F;
    });
    const int64_t shape[] = {size};
    b.add_tensor(name, shape, values);
  };
  matrix("token_embd.weight", s.n_vocab, s.hidden);
  matrix("output.weight", s.n_vocab, s.hidden);
  vector("output_norm.weight", s.hidden);
  const bool gemma = s.arch == "gemma3";
  for (int i = 0; i < s.n_layers; ++i) {
    const std::string blk = "blk." + std::to_string(i) + ".";
    vector(blk + "attn_norm.weight", s.hidden);
    vector(blk + "ffn_norm.weight", s.hidden);
    if (gemma) {
      vector(blk + "post_attention_norm.weight", s.hidden);
      vector(blk + "post_ffw_norm.weight", s.hidden);
    }
    if (gemma || s.arch == "qwen3") {
      vector(blk + "attn_q_norm.weight", s.head_dim);
      vector(blk + "attn_k_norm.weight", s.head_dim);
    }
    matrix(blk + "attn_q.weight", s.n_heads * s.head_dim, s.hidden);
    matrix(blk + "attn_k.weight", s.n_kv_heads * s.head_dim, s.hidden);
    matrix(blk + "attn_v.weight", s.n_kv_heads * s.head_dim, s.hidden);
    matrix(blk + "attn_output.weight", s.hidden, s.n_heads * s.head_dim);
    matrix(blk + "ffn_gate.weight", s.ffn, s.hidden);
    matrix(blk + "ffn_up.weight", s.ffn, s.hidden);
    matrix(blk + "ffn_down.weight", s.hidden, s.ffn);
  }
  return b;
}

struct RigOptions {
  int n_threads = 1;
  Isa isa = kAutomaticIsa;  // cap
  bool as_f32 = false;
  int64_t n_fast = -1;  // positions below are fast (--arithmetic fast); -1: exact throughout
  PageType page_type = PageType::kBF16;
  int64_t n_pages = 64;
  model::StepLimits limits = {.max_tokens = 512, .max_logits = 512};
};

// Everything from a parsed file to a runnable model.
class ModelRig {
 public:
  ModelRig(std::shared_ptr<weights::ModelFile> file, const RigOptions& options)
      : n_fast_(options.n_fast),
        file_(std::move(file)),
        plan_(model::plan_load(*file_, load_options(options))),
        dispatch_(kernels::make_dispatch(detect_cpu(), options.isa, false, false)),
        threads_(options.n_threads),
        weight_pool_("weights", static_cast<size_t>(plan_.weight_bytes)),
        kv_pool_("kv", static_cast<size_t>(kv::pool_bytes(page_shape(options), options.n_pages))),
        scratch_("scratch", scratch_bytes(options)),
        exec_(threads_, dispatch_.table, scratch_),
        weights_(
            model::load_weights(*file_, plan_, load_options(options), weight_pool_, threads_, {})),
        pages_(kv_pool_, page_shape(options), options.n_pages),
        backend_(exec_, scratch_, split_limits(options)),
        model_(*weights_, backend_, pages_, scratch_, options.limits) {}

  [[nodiscard]] model::Model& model() { return model_; }

  [[nodiscard]] ops::Exec& exec() { return exec_; }

  [[nodiscard]] const model::ModelWeights& weights() const { return *weights_; }

  [[nodiscard]] kv::PagePool& pages() { return pages_; }

  [[nodiscard]] ThreadPool& threads() { return threads_; }

  [[nodiscard]] MemoryPool& scratch() { return scratch_; }

  [[nodiscard]] int64_t n_vocab() const { return plan_.config.n_vocab; }

  // Logits [n, n_vocab] of all positions of `ids`, computed in chunks of `chunk` rows.
  std::vector<float> logits(const std::vector<int32_t>& ids, int64_t chunk) {
    kv::PageTable table(pages_, {});
    const auto n = static_cast<int64_t>(ids.size());
    table.reserve(n);
    std::vector<float> out(static_cast<size_t>(n * n_vocab()));
    for (int64_t first = 0; first < n; first += chunk) {
      const int64_t rows = std::min(chunk, n - first);
      std::vector<int64_t> positions;
      std::vector<int64_t> wanted;
      for (int64_t i = 0; i < rows; ++i) {
        positions.push_back(first + i);
        wanted.push_back(i);
      }
      const ops::SequenceRows sequence = {0, rows, first, table.pages(), n};
      const auto fast = std::make_unique<bool[]>(static_cast<size_t>(rows));
      for (int64_t i = 0; i < rows; ++i) {
        fast[static_cast<size_t>(i)] = first + i < n_fast_;
      }
      model::StepInput input = {
          std::span(ids).subspan(static_cast<size_t>(first), static_cast<size_t>(rows)),
          positions,
          {&sequence, 1},
          wanted};
      if (n_fast_ >= 0) {
        input.fast_rows = {fast.get(), static_cast<size_t>(rows)};
      }
      model_.forward(input, {out.data() + first * n_vocab(), rows, n_vocab(), n_vocab()});
    }
    return out;
  }

 private:
  static model::LoadOptions load_options(const RigOptions& options) {
    model::LoadOptions load;
    load.as_f32 = options.as_f32;
    load.fast_prompts = options.n_fast >= 0;
    return load;
  }

  [[nodiscard]] kv::PageShape page_shape(const RigOptions& options) const {
    const model::LayerOptions& layer = plan_.config.layers.front();
    return {options.page_type, static_cast<int>(plan_.config.n_layers), layer.page_heads(),
            layer.page_key_dim(), layer.page_value_dim()};
  }

  [[nodiscard]] ops::SplitLimits split_limits(const RigOptions& options) const {
    const model::LayerOptions& layer = plan_.config.layers.front();
    return {options.limits.max_tokens, layer.n_heads, layer.page_key_dim(),
            options.n_pages * kPageTokens};
  }

  [[nodiscard]] size_t scratch_bytes(const RigOptions& options) const {
    return ops::Exec::scratch_bytes(options.n_threads) +
           ops::CpuBackend::split_bytes(split_limits(options)) +
           model::Model::scratch_bytes(plan_.config, plan_.types, options.limits) + (4U << 20U);
  }

  int64_t n_fast_;
  std::shared_ptr<weights::ModelFile> file_;
  model::LoadPlan plan_;
  kernels::Dispatch dispatch_;
  ThreadPool threads_;
  MemoryPool weight_pool_, kv_pool_, scratch_;
  ops::Exec exec_;
  std::unique_ptr<model::ModelWeights> weights_;
  kv::PagePool pages_;
  ops::CpuBackend backend_;
  model::Model model_;
};

// `n` ids below n_vocab, fixed by `seed`.
inline std::vector<int32_t> random_ids(int64_t n, int n_vocab, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> ids(static_cast<size_t>(n));
  std::ranges::generate(
      ids, [&] { return static_cast<int32_t>(random() % static_cast<uint32_t>(n_vocab)); });
  return ids;
}

}  // namespace fathom::test
