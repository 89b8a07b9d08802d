// Kept weights are the packed ones bit for bit; a file that is damaged, of another model or of
// another version is not used; a folder that cannot be written costs a warning. Called by ctest.
// Read next: src/model/packed_cache.cc.
#include "model/packed_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "model/load.h"
#include "src/model/parity_files.h"
#include "support/model_rig.h"
#include "support/temp_folder.h"

namespace fathom::model {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;

// A model's weights region after loading.
std::vector<std::byte> load(const weights::ModelFile& file, const LoadOptions& options,
                            int n_threads = 2) {
  const LoadPlan plan = plan_load(file, options);
  MemoryPool pool("weights", static_cast<size_t>(plan.weight_bytes));
  ThreadPool threads(n_threads);
  load_weights(file, plan, options, pool, threads, {});
  pool.reset();
  const auto region = pool.allocate(static_cast<size_t>(plan.weight_bytes));
  return {region.begin(), region.end()};
}

LoadOptions keep_in(const TempFolder& folder, const std::string& source = "a model") {
  LoadOptions options;
  options.cache = {folder.path_of("packed"), source};
  return options;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  if (fs::exists(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      paths.push_back(entry.path().string());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(PackedCache, KeptWeightsAreThePackedOnes) {
  for (const char* name : test::kEveryBlock) {
    SCOPED_TRACE(name);
    const TempFolder folder;
    const auto file = test::parity_file(name);
    const std::vector<std::byte> packed = load(*file, {});
    EXPECT_EQ(load(*file, keep_in(folder)), packed);
    ASSERT_EQ(files_in(folder.path_of("packed")).size(), 1u);
    EXPECT_EQ(load(*file, keep_in(folder)), packed);
    EXPECT_EQ(load(*file, keep_in(folder), 1), packed);
    EXPECT_EQ(files_in(folder.path_of("packed")).size(), 1u);
  }
}

TEST(PackedCache, AFileThatIsThereIsRead) {
  const TempFolder folder;
  const auto file = test::parity_file("llama");
  const std::vector<std::byte> packed = load(*file, keep_in(folder));
  const std::string path = files_in(folder.path_of("packed")).front();
  // The same weights with one value changed, and the checksums of that: only a reader shows it.
  std::string bytes = read_file(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  const uint64_t chunk = XXH3_64bits(bytes.data() + 72, bytes.size() - 72);
  std::memcpy(bytes.data() + 64, &chunk, 8);
  std::memset(bytes.data() + 48, 0, 8);
  const uint64_t of_header = XXH3_64bits(bytes.data(), 64);
  const uint64_t whole = XXH3_64bits_withSeed(bytes.data() + 64, 8, of_header);
  std::memcpy(bytes.data() + 48, &whole, 8);
  write_file(path, bytes);
  std::vector<std::byte> changed = packed;
  changed.back() ^= std::byte{1};
  EXPECT_EQ(load(*file, keep_in(folder)), changed);
}

TEST(PackedCache, DamagedFilesAreNotUsedAndMadeAnew) {
  const TempFolder folder;
  const auto file = test::parity_file("llama");
  const std::vector<std::byte> packed = load(*file, keep_in(folder));
  const std::string path = files_in(folder.path_of("packed")).front();
  const std::string good = read_file(path);
  const auto expect_mended = [&](const std::string& bad) {
    write_file(path, bad);
    EXPECT_EQ(load(*file, keep_in(folder)), packed);
    EXPECT_EQ(read_file(path), good);
  };
  for (size_t at = 0; at < 72; ++at) {  // the header and its table of one checksum
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    SCOPED_TRACE(at);
    expect_mended(bad);
  }
  for (const size_t size : {size_t{0}, size_t{10}, size_t{64}, size_t{71}, size_t{72},
                            good.size() / 2, good.size() - 1}) {
    SCOPED_TRACE(size);
    expect_mended(good.substr(0, size));
  }
  for (size_t at = 72; at < good.size(); at += good.size() / 37) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    SCOPED_TRACE(at);
    expect_mended(bad);
  }
}

TEST(PackedCache, OtherWeightsHaveAnotherFile) {
  const TempFolder folder;
  const auto file = test::parity_file("gpt_oss-mxfp4");
  const std::vector<std::byte> plain = load(*file, keep_in(folder));
  LoadOptions as_f32 = keep_in(folder);
  as_f32.as_f32 = true;
  EXPECT_NE(load(*file, as_f32), plain);
  load(*file, keep_in(folder, "another source"));
  load(*test::parity_file("llama-mqa-bias"), keep_in(folder));
  EXPECT_EQ(files_in(folder.path_of("packed")).size(), 4u);
  EXPECT_EQ(load(*file, keep_in(folder)), plain);
}

TEST(PackedCache, AFolderThatCannotBeMadeCostsAWarningOnly) {
  const TempFolder folder;
  folder.write("packed", std::string_view("a file in the way"));
  const auto file = test::parity_file("llama");
  EXPECT_EQ(load(*file, keep_in(folder)), load(*file, {}));
}

TEST(PackedCache, FilesAreKnownByNameSizeAndTime) {
  const TempFolder folder;
  const std::string path = folder.write("model.bin", std::string_view("12345"));
  std::set<std::string> seen = {describe_files(path)};
  EXPECT_EQ(*seen.begin(), describe_files(folder.path()));
  EXPECT_TRUE(describe_files(path).starts_with("model.bin 5 "));
  folder.write("model.bin", std::string_view("123456"));
  EXPECT_TRUE(seen.insert(describe_files(path)).second);
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::seconds(5));
  EXPECT_TRUE(seen.insert(describe_files(path)).second);
  folder.write("config.json", std::string_view("{}"));
  EXPECT_TRUE(seen.insert(describe_files(folder.path())).second);
  EXPECT_EQ(describe_files(folder.path_of("nothing")), "");
}

// A change of what packing makes must raise kPackedCacheVersion, or old files would be taken for
// the new bytes. Then this digest changes too.
TEST(PackedCache, TheVersionStandsForThesePackedBytes) {
  std::string all;
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ4_1,
                           DType::kQ5_0, DType::kQ5_1, DType::kQ8_0, DType::kQ2_K, DType::kQ3_K,
                           DType::kQ4_K, DType::kQ5_K, DType::kQ6_K}) {
    test::TinySizes sizes;
    sizes.n_layers = 1;
    sizes.hidden = 256;
    sizes.head_dim = 64;
    sizes.ffn = 256;
    sizes.weight_type = type;
    const auto region = load(*test::tiny_gguf(sizes).parse(), {});
    all += fmt::format("{} {:016x}\n", name_of(type), XXH3_64bits(region.data(), region.size()));
  }
  EXPECT_EQ(kPackedCacheVersion, 1u);
  EXPECT_EQ(all, R"(F32 f05b365383a4c9e2
F16 e1135cd2ce6eef08
BF16 89262b559faecf1c
Q4_0 43bf1e19074b300f
Q4_1 20a2e6c32b8243d7
Q5_0 0ce303d5c900e3c5
Q5_1 d77ba4883d0678f9
Q8_0 6c2b0843073e6268
Q2_K 6693c6b348fe27c6
Q3_K 32cc75a5bc5834d8
Q4_K 126081e9367a8853
Q5_K b343e8cff8e2498f
Q6_K bfa5785ee7a349a3
)");
}

}  // namespace
}  // namespace fathom::model
