// The list of jobs: nothing overlaps, everything has its place, and what belongs together lies
// together.
#include "model/jobs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/arch/registry.h"
#include "quant/formats.h"
#include "src/model/made_file.h"
#include "src/model/parity_files.h"

namespace fathom::model {
namespace {

using test::MadeFile;
using test::small_config;
using test::small_file;

// The weights must outlive the jobs, whose targets point into them.
struct Built {
  ModelWeights weights;
  JobList jobs;

  [[nodiscard]] const MatrixJob& job(const quant::PackedMatrix& target) const {
    const auto found = std::ranges::find(jobs.matrices, &target, &MatrixJob::target);
    EXPECT_NE(found, jobs.matrices.end());
    return *found;
  }
};

std::unique_ptr<Built> build(const weights::ModelFile& file, ModelConfig config,
                             std::span<const TensorRule> rules, bool as_f32) {
  auto built = std::make_unique<Built>();
  const Bindings bindings = bind_tensors(file, rules, config);
  built->weights.config = std::move(config);
  built->weights.layers.resize(static_cast<size_t>(built->weights.config.n_layers));
  built->jobs = make_jobs(bindings, as_f32, built->weights);
  return built;
}

std::unique_ptr<Built> build_parity(const char* name, bool as_f32) {
  const auto file = test::parity_file(name);
  const ArchSpec& arch = find_arch(file->metadata);
  return build(*file, arch.read_config(ConfigReader(*file)), arch.tensor_rules, as_f32);
}

struct Piece {
  size_t begin;
  size_t end;
};

// Every group of every matrix, every vector.
std::vector<Piece> pieces_of(const JobList& jobs) {
  std::vector<Piece> pieces;
  for (const MatrixJob& job : jobs.matrices) {
    const auto bytes = static_cast<size_t>(quant::group_bytes(job.packed, job.view.n_cols));
    for (int64_t row = 0; row < job.view.n_rows; row += quant::kGroupRows) {
      const int64_t stride = row / quant::kGroupRows * job.group_stride_bytes;
      const size_t begin = job.offset + static_cast<size_t>(stride);
      pieces.push_back({begin, begin + bytes});
    }
  }
  for (const VectorJob& job : jobs.vectors) {
    pieces.push_back({job.offset, job.offset + static_cast<size_t>(job.n_values) * sizeof(float)});
  }
  std::ranges::sort(pieces, {}, &Piece::begin);
  return pieces;
}

TEST(Jobs, PiecesNeverOverlapAndLieInTheRegion) {
  for (const char* name : test::kEveryBlock) {
    for (const bool as_f32 : {false, true}) {
      SCOPED_TRACE(name);
      const auto built = build_parity(name, as_f32);
      const std::vector<Piece> pieces = pieces_of(built->jobs);
      for (size_t i = 1; i < pieces.size(); ++i) {
        ASSERT_LE(pieces[i - 1].end, pieces[i].begin);
      }
      EXPECT_LE(pieces.back().end, built->jobs.bytes);
      EXPECT_GT(pieces.back().end + 64, built->jobs.bytes);  // no more than the padding is left
    }
  }
}

TEST(Jobs, EveryTargetIsSetOnce) {
  for (const char* name : test::kEveryBlock) {
    SCOPED_TRACE(name);
    const auto built = build_parity(name, false);
    std::vector<const void*> targets;
    for (const MatrixJob& job : built->jobs.matrices) {
      targets.push_back(job.target);
      EXPECT_EQ(job.offset % 64, 0U);
      EXPECT_EQ(&job.file_view(), &job.view);
    }
    for (const VectorJob& job : built->jobs.vectors) {
      targets.push_back(static_cast<const void*>(job.target));
    }
    std::ranges::sort(targets);
    EXPECT_EQ(std::ranges::adjacent_find(targets), targets.end());
  }
}

TEST(Jobs, QueriesKeysAndValuesLieOneAfterTheOther) {
  const MadeFile file = small_file();
  const auto built = build(file.file(), small_config(), {}, false);
  const LayerWeights& layer = built->weights.layers.front();
  const auto end = [](const MatrixJob& job) {
    const auto bytes = quant::packed_bytes(job.packed, job.view.n_rows, job.view.n_cols);
    return job.offset + MemoryPool::padded_bytes(static_cast<size_t>(bytes));
  };
  EXPECT_EQ(end(built->job(layer.q.matrix)), built->job(layer.k.matrix).offset);
  EXPECT_EQ(end(built->job(layer.k.matrix)), built->job(layer.v.matrix).offset);
}

TEST(Jobs, GateAndUpAlternateByGroups) {
  const MadeFile file = small_file();
  const auto built = build(file.file(), small_config(), {}, false);
  const LayerWeights& layer = built->weights.layers.front();
  const MatrixJob& gate = built->job(layer.gate.matrix);
  const MatrixJob& up = built->job(layer.up.matrix);
  const int64_t group = quant::group_bytes(DType::kF32, 8);
  EXPECT_EQ(gate.group_stride_bytes, 2 * group);
  EXPECT_EQ(up.group_stride_bytes, 2 * group);
  EXPECT_EQ(up.offset, gate.offset + static_cast<size_t>(group));
  EXPECT_EQ(built->job(layer.down.matrix).group_stride_bytes, quant::group_bytes(DType::kF32, 6));
}

TEST(Jobs, GateAndUpOfTwoTypesStayApart) {
  MadeFile file = small_file();
  const std::string up_name = "model.layers.0.mlp.up_proj.weight";
  file.remove(up_name).add(up_name, DType::kBF16, {6, 8}, std::vector<std::byte>(96));
  const auto built = build(file.file(), small_config(), {}, false);
  const LayerWeights& layer = built->weights.layers.front();
  EXPECT_EQ(built->job(layer.gate.matrix).group_stride_bytes, quant::group_bytes(DType::kF32, 8));
  EXPECT_EQ(built->job(layer.up.matrix).packed, DType::kBF16);
}

TEST(Jobs, AnUngatedLayerHasNoGate) {
  MadeFile file = small_file();
  file.remove("model.layers.0.mlp.gate_proj.weight");
  ModelConfig config = small_config();
  config.layers.front().gated = false;
  const auto built = build(file.file(), config, {}, false);
  const LayerWeights& layer = built->weights.layers.front();
  EXPECT_EQ(built->job(layer.up.matrix).group_stride_bytes, quant::group_bytes(DType::kF32, 8));
  EXPECT_EQ(std::ranges::find(built->jobs.matrices, &layer.gate.matrix, &MatrixJob::target),
            built->jobs.matrices.end());
}

TEST(Jobs, ATiedHeadIsPackedOnce) {
  const MadeFile file = small_file();
  ModelConfig config = small_config();
  const auto apart = build(file.file(), config, {}, false);
  config.tied_head = true;
  const auto tied = build(file.file(), config, {}, false);
  EXPECT_EQ(tied->jobs.matrices.size() + 1, apart->jobs.matrices.size());
  // The embedding is looked up; as a head it is multiplied.
  EXPECT_EQ(apart->job(apart->weights.embedding).place, nullptr);
  EXPECT_EQ(tied->job(tied->weights.embedding).place, &ModelWeightTypes::head_in);
}

TEST(Jobs, NormsStoredAsWGetOneAdded) {
  const MadeFile file = small_file();
  ModelConfig config = small_config();
  const auto count_added = [&] {
    const auto built = build(file.file(), config, {}, false);
    return std::ranges::count(built->jobs.vectors, 1.0F, &VectorJob::add);
  };
  EXPECT_EQ(count_added(), 0);
  config.norm_adds_one = true;
  EXPECT_EQ(count_added(), 3);
}

TEST(Jobs, RoutersAreF32AndExpertsCountByTheirShare) {
  const auto built = build_parity("qwen2_moe", false);
  const ExpertWeights& w = built->weights.layers.front().mixture;
  EXPECT_EQ(built->job(w.router.matrix).packed, DType::kF32);
  EXPECT_EQ(built->job(w.shared_router).packed, DType::kF32);
  EXPECT_EQ(built->job(w.router.matrix).share, 1.0);
  EXPECT_EQ(built->job(w.shared_down).share, 1.0);
  ASSERT_EQ(w.experts.size(), 4U);
  EXPECT_EQ(built->job(w.experts[3].gate).share, 0.5);  // two of four
  EXPECT_EQ(built->job(w.down[3]).place, &ModelWeightTypes::expert_down_in);
}

}  // namespace
}  // namespace fathom::model
