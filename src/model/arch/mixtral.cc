// Mixtral: Mistral with eight experts of which two are used, weights renormalized.
// Source: arXiv 2401.04088. GGUF files of this family say "llama".
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"MixtralForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kRouter, "", "model.layers.{i}.block_sparse_moe.gate.weight"},
    {Part::kExpertGate, "", "model.layers.{i}.block_sparse_moe.experts.{e}.w1.weight"},
    {Part::kExpertUp, "", "model.layers.{i}.block_sparse_moe.experts.{e}.w3.weight"},
    {Part::kExpertDown, "", "model.layers.{i}.block_sparse_moe.experts.{e}.w2.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  const int64_t window = r.integer({"sliding_window"}, 0);
  set_windows(config, r, window, [](int64_t) { return true; });
  ExpertOptions experts = r.experts();
  experts.router.renormalize = true;
  set_experts(config, experts);
  return config;
}

}  // namespace

extern const ArchSpec kMixtral;
const ArchSpec kMixtral = {"", kNames, read_config, kRules};

}  // namespace fathom::model
