// Packing: the same bytes with any number of threads, progress to the end, and the first bad value
// by name and row.
#include "model/packer.h"

#include <gtest/gtest.h>

#include <limits>

#include "model/load.h"
#include "quant/formats.h"
#include "src/model/made_file.h"
#include "src/model/parity_files.h"
#include "support/error_check.h"

namespace fathom::model {
namespace {

using test::MadeFile;

// All packed bytes of a model; `progress` as load_weights takes it.
std::vector<std::byte> pack_all(const char* name, int n_threads, const LoadProgress& progress) {
  const auto file = test::parity_file(name);
  const LoadPlan plan = plan_load(*file, {});
  MemoryPool pool("weights", static_cast<size_t>(plan.weight_bytes));
  ThreadPool threads(n_threads);
  load_weights(*file, plan, {}, pool, threads, progress);
  pool.reset();
  const auto bytes = pool.allocate(static_cast<size_t>(plan.weight_bytes));
  return {bytes.begin(), bytes.end()};
}

TEST(Packer, ThreadsChangeNothing) {
  for (const char* name : {"llama", "gpt2", "gpt_oss", "deepseek_v3", "llama-int8"}) {
    const auto one = pack_all(name, 1, {});
    EXPECT_EQ(one, pack_all(name, 2, {})) << name;
    EXPECT_EQ(one, pack_all(name, 3, {})) << name;
  }
}

TEST(Packer, ProgressRisesToTheEnd) {
  std::vector<int64_t> done;
  int64_t total = 0;
  pack_all("mixtral", 1, [&](int64_t bytes, int64_t all) {
    done.push_back(bytes);
    total = all;
  });
  ASSERT_GT(done.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_EQ(done.back(), total);
}

// Packs views of one file, 64 x 64 each.
void pack_views(const MadeFile& file, const std::vector<MatrixView>& views) {
  JobList jobs;
  for (const MatrixView& view : views) {
    MatrixJob job;
    job.view = view;
    job.packed = view.packed_type(false);
    job.offset = jobs.bytes;
    job.group_stride_bytes = quant::group_bytes(job.packed, view.n_cols);
    jobs.bytes += static_cast<size_t>(quant::packed_bytes(job.packed, view.n_rows, view.n_cols));
    jobs.matrices.push_back(job);
  }
  MemoryPool pool("region", jobs.bytes);
  ThreadPool threads(2);
  pack_matrices(file.file(), jobs, pool.allocate(jobs.bytes).data(), threads, {});
}

MadeFile file_with_bad(std::string_view name, int64_t row, float bad) {
  MadeFile file;
  for (const char* one : {"a", "b"}) {
    std::vector<float> values(64 * 64, 1.0F);
    if (one == name) {
      values[static_cast<size_t>(row * 64 + 5)] = bad;
    }
    file.add(one, {64, 64}, values);
  }
  return file;
}

MatrixView whole(const MadeFile& file, std::string_view name, bool transposed = false) {
  return {file.file().tensors.find(name), 64, 64, 0, 1, 1, transposed, 0};
}

TEST(Packer, NamesTensorAndRowOfABadValue) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    const MadeFile file = file_with_bad("b", 37, bad);
    test::expect_error(
        [&] {
          pack_views(file, {whole(file, "a"), whole(file, "b")});
        },
        ErrorCode::kCorruptFile, {"model/config.json: tensor 'b' row 37 holds a NaN or infinite"});
    pack_views(file, {whole(file, "a")});  // who does not read it does not mind
  }
}

TEST(Packer, TheRowIsTheFilesNotTheViews) {
  const MadeFile file = file_with_bad("a", 37, std::numeric_limits<float>::infinity());
  const MatrixView odd = {file.file().tensors.find("a"), 32, 64, 1, 1, 2};
  test::expect_error([&] { pack_views(file, {odd}); }, ErrorCode::kCorruptFile,
                     {"tensor 'a' row 37 "});
}

TEST(Packer, TheFirstInFileOrderIsNamed) {
  MadeFile file = file_with_bad("b", 3, std::numeric_limits<float>::infinity());
  std::vector<float> values(64 * 64, 1.0F);
  values[50 * 64] = std::numeric_limits<float>::infinity();
  values[60 * 64] = std::numeric_limits<float>::infinity();
  file.remove("a").add("a", {64, 64}, values);
  test::expect_error(
      [&] {
        pack_views(file, {whole(file, "b"), whole(file, "a")});
      },
      ErrorCode::kCorruptFile, {"tensor 'a' row 50 "});
}

}  // namespace
}  // namespace fathom::model
