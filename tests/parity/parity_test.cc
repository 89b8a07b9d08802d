// Every architecture against transformers, and against itself: tiny models from folders and GGUF
// files give the reference's logits and greedy tokens, and the same bits however they are computed.
// FATHOM_WRITE_GOLDEN=1 writes tests/parity/golden_bits.txt anew, from the scalar kernels.
// Read next: parity_case.h, tools/make_parity_models.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/generator.h"
#include "api/score.h"
#include "api/session.h"
#include "base/cpu.h"
#include "parity/parity_case.h"

namespace fathom::api {
namespace {

using test::ParityModel;
using test::ParityPrompt;

constexpr int64_t kContext = 64;  // or what the prompts need

struct Run {
  bool compute_f32 = false;
  int n_threads = 1;
  int64_t rows_at_once = kContext;
};

int64_t context_of(const ParityModel& model) {
  int64_t context = kContext;
  for (const ParityPrompt& prompt : test::prompts_of(model)) {
    context = std::max(context, std::ssize(prompt.ids) + std::ssize(prompt.greedy));
  }
  return context;
}

std::unique_ptr<Session> open(const ParityModel& model, const Run& run) {
  SessionOptions options;
  options.model_path = model.path;
  options.context = context_of(model);
  options.n_threads = run.n_threads;
  options.compute_f32 = run.compute_f32;
  options.max_logits = run.rows_at_once;
  options.max_batched_tokens = kContext;
  return Session::open(options);
}

std::vector<float> logits_of(const ParityModel& model, const std::vector<int32_t>& ids,
                             const Run& run) {
  const auto session = open(model, run);
  std::vector<float> values;
  score(*session, ids, [&values](int64_t, const ops::Rows& rows) {
    for (int64_t row = 0; row < rows.n_rows; ++row) {
      values.insert(values.end(), rows.row(row), rows.row(row) + rows.n_cols);
    }
  });
  return values;
}

// Where and how far two lists of logits differ most.
struct Difference {
  float largest = 0;
  size_t at = 0;
};

Difference difference_of(const std::vector<float>& found, const std::vector<float>& wanted) {
  Difference worst;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const float difference = std::abs(found[i] - wanted[i]);
    if (!(difference <= worst.largest)) {  // a NaN counts as the worst
      worst = {std::isnan(difference) ? INFINITY : difference, i};
    }
  }
  return worst;
}

class ParityTest : public testing::TestWithParam<ParityModel> {};

TEST_P(ParityTest, LogitsAreTheReferences) {
  const float tolerance = test::tolerance_of(GetParam());
  for (const ParityPrompt& prompt : test::prompts_of(GetParam())) {
    const auto found = logits_of(GetParam(), prompt.ids, {.compute_f32 = true});
    ASSERT_EQ(found.size(), prompt.logits.size());
    const Difference worst = difference_of(found, prompt.logits);
    const size_t n_vocab = prompt.logits.size() / prompt.ids.size();
    EXPECT_LE(worst.largest, tolerance)
        << prompt.name << ": position " << worst.at / n_vocab << ", token " << worst.at % n_vocab;
  }
}

TEST_P(ParityTest, GreedyTokensAreTheReferences) {
  for (const ParityPrompt& prompt : test::prompts_of(GetParam())) {
    const auto session = open(GetParam(), {.compute_f32 = true});
    GenerateOptions options;
    options.prompt = prompt.ids;
    options.sampling.temperature = 0;
    options.max_tokens = std::ssize(prompt.greedy);
    options.ignore_eos = true;
    EXPECT_EQ(generate(*session, options).tokens, prompt.greedy) << prompt.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ParityTest, testing::ValuesIn(test::parity_models()),
                         [](const auto& model) { return test::test_name_of(model.param); });

// FNV-1a over the bits; zeros are canonical, so -0 counts as 0.
std::string hash_of(const std::vector<float>& values) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const float value : values) {
    const float canonical = value == 0.0F ? 0.0F : value;
    uint32_t bits = 0;
    std::memcpy(&bits, &canonical, 4);
    for (int i = 0; i < 32; i += 8) {
      hash = (hash ^ ((bits >> i) & 0xff)) * 0x100000001b3;
    }
  }
  return fmt::format("{:016x}", hash);
}

std::string golden_path() {
  return (test::parity_folder() / "golden_bits.txt").string();
}

std::map<std::string, std::string> read_golden() {
  std::map<std::string, std::string> golden;
  std::ifstream in(golden_path());
  for (std::string name, hash; in >> name >> hash;) {
    golden[name] = hash;
  }
  return golden;
}

// Caps the kernels of sessions opened while it lives.
class IsaCap {
 public:
  explicit IsaCap(Isa isa) { ::setenv("FATHOM_ISA", std::string(name_of(isa)).c_str(), 1); }

  ~IsaCap() { ::unsetenv("FATHOM_ISA"); }

  IsaCap(const IsaCap&) = delete;
  IsaCap& operator=(const IsaCap&) = delete;
};

std::string bits_of(const ParityModel& model, Isa isa) {
  const IsaCap cap(isa);
  std::string bits;
  for (const ParityPrompt& prompt : test::prompts_of(model)) {
    bits += hash_of(logits_of(model, prompt.ids, {}));
  }
  return bits;
}

bool is_built(Isa isa) {
  if (isa == Isa::kScalar) {
    return true;
  }
  for (const kernels::KernelSet& set : kernels::built_sets()) {
    if (set.isa == isa) {
      return detect_cpu().has(isa);
    }
  }
  return false;
}

class ParityBitsTest : public testing::TestWithParam<ParityModel> {};

// Chunks of one row are decoding; a whole prompt is prefill.
TEST_P(ParityBitsTest, ChunksAndThreadsDoNotMatter) {
  const ParityPrompt prompt = test::prompts_of(GetParam()).front();
  const auto whole = logits_of(GetParam(), prompt.ids, {});
  ASSERT_EQ(whole.size(), prompt.logits.size());
  for (const int64_t rows : {1, 5, 16}) {
    EXPECT_EQ(hash_of(logits_of(GetParam(), prompt.ids, {.rows_at_once = rows})), hash_of(whole))
        << "chunks of " << rows;
  }
  for (const int n_threads : {2, 3}) {
    EXPECT_EQ(hash_of(logits_of(GetParam(), prompt.ids, {.n_threads = n_threads})), hash_of(whole))
        << n_threads << " threads";
  }
}

// C44: one program, every set that the machine has.
TEST_P(ParityBitsTest, EverySetMeetsTheScalarHashes) {
  const auto golden = read_golden();
  const auto wanted = golden.find(GetParam().name);
  ASSERT_NE(wanted, golden.end()) << "no line in " << golden_path();
  for (const Isa isa : kAllIsas) {
    if (is_built(isa)) {
      EXPECT_EQ(bits_of(GetParam(), isa), wanted->second) << name_of(isa);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ParityBitsTest, testing::ValuesIn(test::distinct_parity_models()),
                         [](const auto& model) { return test::test_name_of(model.param); });

TEST(ParityGoldenTest, ListsEveryModelOnce) {
  const auto models = test::distinct_parity_models();
  if (std::getenv("FATHOM_WRITE_GOLDEN") != nullptr) {
    std::ofstream out(golden_path());
    for (const ParityModel& model : models) {
      try {
        out << model.name << ' ' << bits_of(model, Isa::kScalar) << '\n';
      } catch (const std::exception& error) {
        ADD_FAILURE() << model.name << ": " << error.what();
      }
    }
  }
  const auto golden = read_golden();
  EXPECT_EQ(golden.size(), models.size());
  for (const ParityModel& model : models) {
    EXPECT_TRUE(golden.contains(model.name)) << model.name;
  }
}

}  // namespace
}  // namespace fathom::api
