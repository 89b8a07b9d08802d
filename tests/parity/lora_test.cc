// LoRA adapters against peft: beside the weights, merged into them, on folders and on GGUF files of
// the same values; several at once; and the same bits however they are computed.
// Read next: tools/make_lora_cases.py, src/model/lora.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "api/generator.h"
#include "api/score.h"
#include "api/session.h"
#include "parity/parity_case.h"
#include "support/error_check.h"

namespace fathom::api {
namespace {

// One folder of tests/parity/lora.
struct LoraCase {
  std::string name;
  std::string base;
  std::string gguf;  // the same base as GGUF; empty: none
  std::vector<AdapterPath> adapters;
  bool merge_only = false;
  std::vector<int32_t> ids, greedy;
  std::vector<float> logits;
  float tolerance = 0;
};

LoraCase read_case(const std::filesystem::path& folder) {
  const std::filesystem::path root = test::parity_folder();
  const nlohmann::json expected = test::read_json(folder / "expected.json");
  LoraCase one;
  one.name = folder.filename();
  one.base = root / expected.at("base").get<std::string>();
  if (expected.contains("gguf")) {
    one.gguf = root / expected.at("gguf").get<std::string>();
  }
  if (expected.contains("adapters")) {
    for (const auto& entry : expected.at("adapters")) {
      one.adapters.push_back(
          {(root / "lora" / entry.at(0).get<std::string>()).string(), entry.at(1).get<double>()});
    }
  } else {
    one.adapters.push_back({folder.string()});
  }
  one.merge_only = expected.value("merge_only", false);
  one.ids = expected.at("input_ids").get<std::vector<int32_t>>();
  one.greedy = expected.at("greedy").get<std::vector<int32_t>>();
  one.logits = test::read_npy(folder / expected.at("logits_adapter").get<std::string>());
  one.tolerance = expected.at("tolerance").at("logits_abs").get<float>();
  return one;
}

std::vector<LoraCase> all_cases() {
  std::vector<LoraCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(test::parity_folder() / "lora")) {
    cases.push_back(read_case(entry.path()));
  }
  std::ranges::sort(cases, {}, &LoraCase::name);
  return cases;
}

LoraCase case_of(const std::string& name) {
  return read_case(test::parity_folder() / "lora" / name);
}

void PrintTo(const LoraCase& one, std::ostream* out) {
  *out << one.name;
}

SessionOptions options_for(const LoraCase& one, bool merged) {
  SessionOptions options;
  options.model_path = one.base;
  options.context = 64;
  options.n_threads = 2;
  options.compute_f32 = true;
  options.max_logits = 64;
  options.adapters = one.adapters;
  options.merge_adapters = merged;
  return options;
}

std::vector<float> logits_of(const SessionOptions& options, const std::vector<int32_t>& ids) {
  const auto session = Session::open(options);
  for (const auto& [pool, bytes] : session->pool_peaks()) {
    EXPECT_EQ(bytes, session->memory_plan().bytes_of(pool)) << pool;
  }
  std::vector<float> values;
  score(*session, ids, [&values](int64_t, const ops::Rows& rows) {
    for (int64_t row = 0; row < rows.n_rows; ++row) {
      values.insert(values.end(), rows.row(row), rows.row(row) + rows.n_cols);
    }
  });
  return values;
}

float difference_of(const std::vector<float>& found, const std::vector<float>& wanted) {
  if (found.size() != wanted.size()) {
    return INFINITY;
  }
  float largest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const float difference = std::abs(found[i] - wanted[i]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

// -0 counts as 0.
std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) {
    bits.push_back(std::bit_cast<uint32_t>(value == 0.0F ? 0.0F : value));
  }
  return bits;
}

class LoraParityTest : public testing::TestWithParam<LoraCase> {};

// C40: beside and merged.
TEST_P(LoraParityTest, LogitsAreThoseOfPeft) {
  const LoraCase& one = GetParam();
  for (const bool merged : {false, true}) {
    if (merged || !one.merge_only) {
      EXPECT_LE(difference_of(logits_of(options_for(one, merged), one.ids), one.logits),
                one.tolerance)
          << (merged ? "merged" : "beside");
    }
  }
}

TEST_P(LoraParityTest, GgufFilesOfTheSameValuesGiveThemToo) {
  const LoraCase& one = GetParam();
  if (one.gguf.empty()) {
    return;
  }
  for (const bool merged : {false, true}) {
    SessionOptions options = options_for(one, merged);
    options.model_path = one.gguf;
    EXPECT_LE(difference_of(logits_of(options, one.ids), one.logits), one.tolerance)
        << (merged ? "merged" : "beside");
  }
}

TEST_P(LoraParityTest, GreedyTokensAreThoseOfPeft) {
  const LoraCase& one = GetParam();
  const auto session = Session::open(options_for(one, one.merge_only));
  GenerateOptions options;
  options.prompt = one.ids;
  options.sampling.temperature = 0;
  options.max_tokens = std::ssize(one.greedy);
  options.ignore_eos = true;
  EXPECT_EQ(generate(*session, options).tokens, one.greedy);
}

// In the usual arithmetic, where weights of the base may be rounded.
TEST_P(LoraParityTest, ChunksAndThreadsDoNotMatter) {
  const LoraCase& one = GetParam();
  SessionOptions options = options_for(one, one.merge_only);
  options.compute_f32 = false;
  const auto whole = bits_of(logits_of(options, one.ids));
  for (const int64_t rows : {1, 5}) {
    options.max_logits = rows;
    EXPECT_EQ(bits_of(logits_of(options, one.ids)), whole) << "chunks of " << rows;
  }
  options.max_logits = 64;
  options.n_threads = 1;
  EXPECT_EQ(bits_of(logits_of(options, one.ids)), whole) << "one thread";
}

INSTANTIATE_TEST_SUITE_P(Adapters, LoraParityTest, testing::ValuesIn(all_cases()),
                         [](const auto& one) {
                           std::string name = one.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// What one request gave: ids, and the bits of their log-probabilities.
class RecordSink final : public engine::TextSink {
 public:
  bool on_token(const engine::TokenEvent& event) override {
    record.push_back(static_cast<uint32_t>(event.id));
    record.push_back(std::bit_cast<uint32_t>(event.sampled->logprob));
    return true;
  }

  void on_finish(engine::FinishReason, const engine::Usage&, std::string_view) override {}

  std::vector<uint32_t> record;
};

// All prompts in the same steps.
std::vector<std::vector<uint32_t>> run_together(Session& session,
                                                const std::vector<std::vector<int32_t>>& prompts) {
  std::vector<RecordSink> sinks(prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    engine::Request request;
    request.prompt = prompts[i];
    request.sampling.temperature = 0;
    request.sampling.n_logprobs = 1;
    request.max_tokens = 8;
    session.engine().submit(request, sinks[i]);
  }
  while (session.engine().step()) {
  }
  std::vector<std::vector<uint32_t>> records;
  for (const RecordSink& sink : sinks) {
    records.push_back(sink.record);
  }
  return records;
}

TEST(LoraTest, NeighboursInABatchChangeNothing) {
  const LoraCase one = case_of("llama-several");
  SessionOptions options = options_for(one, false);
  options.compute_f32 = false;
  options.max_logits = 0;
  options.max_sequences = 4;
  const auto session = Session::open(options);
  std::vector<std::vector<int32_t>> prompts;
  for (const size_t n : {16U, 3U, 9U, 1U}) {
    prompts.emplace_back(one.ids.begin(), one.ids.begin() + static_cast<std::ptrdiff_t>(n));
  }
  const auto together = run_together(*session, prompts);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto alone = run_together(*session, {prompts[i]}).front();
    EXPECT_EQ(alone.size(), 16U);
    EXPECT_EQ(together[i], alone) << "prompt of " << prompts[i].size();
  }
}

// C40, as the next two.
TEST(LoraTest, AFactorOfZeroIsTheBaseToTheBit) {
  LoraCase one = case_of("llama-all");
  SessionOptions base = options_for(one, false);
  base.adapters.clear();
  one.adapters.front().scale = 0;
  for (const bool f32 : {true, false}) {
    base.compute_f32 = f32;
    const auto wanted = bits_of(logits_of(base, one.ids));
    for (const bool merged : {false, true}) {
      SessionOptions options = options_for(one, merged);
      options.compute_f32 = f32;
      EXPECT_EQ(bits_of(logits_of(options, one.ids)), wanted) << f32 << merged;
    }
  }
}

TEST(LoraTest, HalfTwiceIsTheWhole) {
  LoraCase one = case_of("llama-all");
  one.adapters = {{one.adapters.front().folder, 0.5}, {one.adapters.front().folder, 0.5}};
  for (const bool merged : {false, true}) {
    EXPECT_LE(difference_of(logits_of(options_for(one, merged), one.ids), one.logits), 1e-4F);
  }
}

TEST(LoraTest, QuantizedBasesTakeAdaptersBesideThemOnly) {
  const LoraCase one = case_of("gpt2-first");
  SessionOptions options = options_for(one, true);
  options.model_path = (test::parity_folder() / "gguf" / "gpt2-q8_0.gguf").string();
  test::expect_error([&] { make_forecast(options); }, ErrorCode::kUnsupported,
                     {"blk.", "Q8_0", "--merge-lora", "--lora"});
  options.merge_adapters = false;
  const auto with = logits_of(options, one.ids);
  options.adapters.clear();
  EXPECT_GT(difference_of(with, logits_of(options, one.ids)), 0.5F);
}

TEST(LoraTest, ABaseThatDoesNotFitIsNamedTensorByTensor) {
  const LoraCase one = case_of("llama-all");
  SessionOptions options = options_for(one, false);
  options.model_path = (test::parity_folder() / "models" / "phi3").string();
  test::expect_error([&] { make_forecast(options); }, ErrorCode::kCorruptFile,
                     {"adapter_config.json", "model.layers.0.self_attn.q_proj.lora_A.weight",
                      "model.layers.1.mlp.up_proj"});
}

TEST(LoraTest, LatentProjectionsCanBeMergedOnly) {
  const SessionOptions options = options_for(case_of("deepseek_v3-latent"), false);
  test::expect_error([&] { make_forecast(options); }, ErrorCode::kCorruptFile,
                     {"q_b_proj.lora_A.weight", "--merge-lora"});
}

}  // namespace
}  // namespace fathom::api
