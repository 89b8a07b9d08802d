// The tiny models of tests/parity, opened: folders "llama", "deepseek_v3"; files "llama.gguf".
// Called by tests that need every kind of layer.
#pragma once

#include <memory>
#include <string>

#include "support/test_data.h"
#include "weights/model_file.h"

namespace fathom::test {

inline std::string parity_path(const std::string& name) {
  const std::string kind = name.ends_with(".gguf") ? "gguf/" : "models/";
  return fathom::test::test_data("parity/") + kind + name;
}

inline std::shared_ptr<weights::ModelFile> parity_file(const std::string& name) {
  return weights::open_model(parity_path(name));
}

// One model of each kind of block and norm placement.
inline constexpr const char* kEveryBlock[] = {
    "llama",           // pre-norm, grouped queries
    "llama-mqa-bias",  // one KV head, biases
    "llama-dynamic",   // rope by length
    "llama-longrope",  // rope by length
    "gemma3_text",     // sandwich norms, windows, two ropes
    "exaone4",         // norms behind the branches only
    "olmo2",           // the same, qk-norm over all heads
    "cohere-qknorm",   // parallel with one norm, qk-norm of each head
    "gpt_neox",        // parallel with two norms
    "falcon",          // parallel, fused queries by group
    "bloom-heads",     // ALiBi, six heads, a norm behind the embedding
    "mpt",             // ALiBi, clamped q k v
    "gpt2",            // learned positions, transposed matrices, ungated
    "opt-350m",        // norms behind the sums, projected embedding
    "smollm3",         // layers without rotation
    "gpt_oss",         // sinks, experts with biases
    "gpt_oss-mxfp4",   // the same in blocks
    "mixtral",         // experts
    "qwen2_moe",       // a shared expert with a gate
    "phimoe",          // the sparse mixer
    "granitemoe",      // stacked experts
    "minicpm3",        // latent attention
    "deepseek_v2",     // latent attention, softmax experts
    "deepseek_v3",     // latent attention, groups of experts
    "llama-int8",      // blocks of whole numbers
    "deepseek_v3-int8",
    "qwen3_moe.gguf",
};

}  // namespace fathom::test
