// Hashes of logits, written by the scalar kernels alone: every set on every machine must meet them.
// FATHOM_WRITE_GOLDEN=1 writes tests/src/model/golden_logits.txt anew, from scalar.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/model_rig.h"
#include "support/test_data.h"

namespace fathom::model {
namespace {

using test::ModelRig;
using test::RigOptions;
using test::TinySizes;

const std::string kFile = fathom::test::test_data("src/model/golden_logits.txt");

// FNV-1a over the bits; zeros are canonical, so -0 counts as 0.
std::string hash_of(const std::vector<float>& values) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const float value : values) {
    EXPECT_TRUE(std::isfinite(value));
    const float canonical = value == 0.0F ? 0.0F : value;
    uint32_t bits = 0;
    std::memcpy(&bits, &canonical, 4);
    for (int i = 0; i < 32; i += 8) {
      hash = (hash ^ ((bits >> i) & 0xff)) * 0x100000001b3;
    }
  }
  return fmt::format("{:016x}", hash);
}

struct Case {
  std::string name;
  TinySizes sizes;
  bool as_f32 = false;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DType type :
       {DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,
        DType::kQ5_1, DType::kQ8_0, DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K,
        DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS}) {
    TinySizes sizes;
    sizes.weight_type = type;
    sizes.hidden = 256;
    sizes.ffn = 512;
    sizes.head_dim = 64;
    all.push_back({std::string(name_of(type)), sizes});
  }
  for (const char* arch : {"llama", "qwen2", "qwen3", "gemma3"}) {
    TinySizes sizes;
    sizes.arch = arch;
    sizes.n_layers = 7;
    sizes.window = sizes.arch == "gemma3" ? 5 : 0;
    sizes.weight_type = DType::kQ8_0;
    all.push_back({std::string(arch) + ".exact", sizes});
    all.push_back({std::string(arch) + ".f32", sizes, true});
  }
  return all;
}

std::string run(const Case& one, Isa isa) {
  RigOptions options;
  options.isa = isa;
  options.as_f32 = one.as_f32;
  options.page_type = one.as_f32 ? PageType::kF32 : PageType::kBF16;
  ModelRig rig(test::tiny_gguf(one.sizes).parse(), options);
  return hash_of(rig.logits(test::random_ids(21, one.sizes.n_vocab, 5), 21));
}

TEST(GoldenLogits, EverySetMeetsTheScalarHashes) {
  if (std::getenv("FATHOM_WRITE_GOLDEN") != nullptr) {
    std::ofstream out(kFile);
    for (const Case& one : cases()) {
      out << one.name << ' ' << run(one, Isa::kScalar) << '\n';
    }
  }
  std::map<std::string, std::string> golden;
  std::ifstream in(kFile);
  for (std::string name, hash; in >> name >> hash;) {
    golden[name] = hash;
  }
  ASSERT_EQ(golden.size(), cases().size());
  for (const Case& one : cases()) {
    for (const Isa isa : kAllIsas) {
      if (detect_cpu().has(isa)) {
        EXPECT_EQ(run(one, isa), golden[one.name]) << one.name << " on " << name_of(isa);
      }
    }
  }
}

}  // namespace
}  // namespace fathom::model
