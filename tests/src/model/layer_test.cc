// Every kind of layer keeps the trunk's promises to the bit: any chunking, any company in the
// batch, any number of threads, watched or not. That the numbers are right is tests/parity's task.
#include "model/layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "src/model/parity_files.h"
#include "support/model_rig.h"

namespace fathom::model {
namespace {

using test::ModelRig;
using test::parity_file;
using test::random_ids;
using test::RigOptions;

using Ids = std::vector<int32_t>;
using Logits = std::vector<float>;

// All sequences at once, `chunk` rows of each in a step; logits of every position.
std::vector<Logits> run_together(ModelRig& rig, const std::vector<Ids>& all, int64_t chunk) {
  std::deque<kv::PageTable> tables;
  for (const Ids& ids : all) {
    tables.emplace_back(rig.pages(), kv::PageHeader{}).reserve(std::ssize(ids));
  }
  std::vector<Logits> results(all.size());
  for (int64_t first = 0;; first += chunk) {
    Ids tokens;
    std::vector<int64_t> positions;
    std::vector<int64_t> wanted;
    std::vector<ops::SequenceRows> sequences;
    std::vector<size_t> owners;
    for (size_t s = 0; s < all.size(); ++s) {
      const int64_t length = std::ssize(all[s]);
      const int64_t n_rows = std::min(chunk, length - first);
      if (n_rows <= 0) {
        continue;
      }
      sequences.push_back({std::ssize(tokens), n_rows, first, tables[s].pages(), length});
      owners.push_back(s);
      for (int64_t i = 0; i < n_rows; ++i) {
        wanted.push_back(std::ssize(tokens));
        tokens.push_back(all[s][static_cast<size_t>(first + i)]);
        positions.push_back(first + i);
      }
    }
    if (sequences.empty()) {
      return results;
    }
    Logits out(tokens.size() * static_cast<size_t>(rig.n_vocab()));
    rig.model().forward({tokens, positions, sequences, wanted},
                        {out.data(), std::ssize(tokens), rig.n_vocab(), rig.n_vocab()});
    for (size_t i = 0; i < sequences.size(); ++i) {
      const auto begin = out.begin() + sequences[i].first_row * rig.n_vocab();
      results[owners[i]].insert(results[owners[i]].end(), begin,
                                begin + sequences[i].n_rows * rig.n_vocab());
    }
  }
}

// Bit equality; a NaN anywhere is a failure of its own.
void expect_same_bits(const Logits& a, const Logits& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(std::isfinite(a[i])) << what << ", value " << i;
    ASSERT_EQ(a[i], b[i]) << what << ", value " << i;
  }
}

class Counter final : public Observer {
 public:
  void on_tensor(const TensorEvent& event) override {
    ++n_events;
    for (const float value : event.values) {
      n_bad += std::isfinite(value) ? 0 : 1;
    }
  }

  int n_events = 0;
  int n_bad = 0;
};

class EveryBlock : public testing::TestWithParam<const char*> {
 protected:
  static constexpr int kVocab = 64;
};

TEST_P(EveryBlock, EveryChunkingGivesTheSameBits) {
  ModelRig rig(parity_file(GetParam()), {});
  const Ids ids = random_ids(45, kVocab, 5);
  const Logits whole = rig.logits(ids, 45);
  for (const int64_t chunk : {1, 2, 5, 16, 32}) {
    expect_same_bits(whole, rig.logits(ids, chunk), "chunks of " + std::to_string(chunk));
  }
}

TEST_P(EveryBlock, CompanyChangesNothing) {
  ModelRig rig(parity_file(GetParam()), {});
  std::vector<Ids> all;
  std::vector<Logits> alone;
  for (const int64_t length : {20, 7, 40, 16, 33}) {  // other lengths, other rotations
    all.push_back(random_ids(length, kVocab, static_cast<uint32_t>(length)));
    alone.push_back(rig.logits(all.back(), length));
  }
  for (const int64_t chunk : {1, 3, 64}) {
    const auto together = run_together(rig, all, chunk);
    for (size_t s = 0; s < all.size(); ++s) {
      expect_same_bits(alone[s], together[s],
                       "sequence " + std::to_string(s) + ", chunks of " + std::to_string(chunk));
    }
  }
}

TEST_P(EveryBlock, EveryThreadCountGivesTheSameBits) {
  const Ids ids = random_ids(37, kVocab, 6);
  const Logits one = ModelRig(parity_file(GetParam()), {}).logits(ids, 37);
  for (const int n_threads : {2, 3}) {
    RigOptions options;
    options.n_threads = n_threads;
    ModelRig rig(parity_file(GetParam()), options);
    expect_same_bits(one, rig.logits(ids, 37), std::to_string(n_threads) + " threads");
    expect_same_bits(one, rig.logits(ids, 1), std::to_string(n_threads) + " threads, row by row");
  }
}

TEST_P(EveryBlock, WatchingChangesNothing) {
  ModelRig rig(parity_file(GetParam()), {});
  const Ids ids = random_ids(19, kVocab, 7);
  const Logits unseen = rig.logits(ids, 19);
  Counter counter;
  rig.exec().set_observer(&counter);
  const Logits seen = rig.logits(ids, 19);
  rig.exec().set_observer(nullptr);
  expect_same_bits(unseen, seen, "watched");
  EXPECT_GT(counter.n_events, 5);
  EXPECT_EQ(counter.n_bad, 0);
}

TEST_P(EveryBlock, FlashIsNearEager) {
  RigOptions options;
  options.as_f32 = true;
  options.page_type = PageType::kF32;
  const Ids ids = random_ids(40, kVocab, 8);
  const Logits flash = ModelRig(parity_file(GetParam()), options).logits(ids, 40);
  options.limits.attention = ops::AttentionKind::kEager;
  const Logits eager = ModelRig(parity_file(GetParam()), options).logits(ids, 40);
  float worst = 0;
  for (size_t i = 0; i < flash.size(); ++i) {
    worst = std::max(worst, std::abs(flash[i] - eager[i]));
  }
  EXPECT_LE(worst, 1e-4F);
  EXPECT_GT(worst, 0.0F) << "the two are different computations";
}

std::string test_name(const testing::TestParamInfo<const char*>& model) {
  std::string name = model.param;
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, EveryBlock, testing::ValuesIn(test::kEveryBlock), test_name);

}  // namespace
}  // namespace fathom::model
