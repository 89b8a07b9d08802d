// Limits read from made-up cgroup folders and from this process. Read next: xray/process_memory.h.
#include "xray/process_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "support/temp_folder.h"

namespace fathom::xray {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

class CgroupTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = std::filesystem::path(root()) / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }

  [[nodiscard]] std::string root() const { return folder_.path(); }

 private:
  test::TempFolder folder_;
};

TEST_F(CgroupTest, TheSmallestOfAllAboveCounts) {
  write("memory.max", "900000");
  write("a/memory.max", "500000");
  write("a/b/memory.max", "max");
  EXPECT_EQ(cgroup_limit_bytes(root(), "/a/b", "memory.max"), 500000);
  EXPECT_EQ(cgroup_limit_bytes(root(), "/", "memory.max"), 900000);
  write("a/b/memory.max", "100000");
  EXPECT_EQ(cgroup_limit_bytes(root(), "/a/b", "memory.max"), 100000);
}

TEST_F(CgroupTest, MissingAndUnlimitedGiveNone) {
  EXPECT_EQ(cgroup_limit_bytes(root(), "/x/y", "memory.max"), kNoLimit);
  write("x/memory.max", "max");
  EXPECT_EQ(cgroup_limit_bytes(root(), "/x", "memory.max"), kNoLimit);
}

TEST(ProcessMemoryTest, ResidentGrowsWithTouchedPages) {
  const ProcessMemory before = process_memory();
  EXPECT_GT(before.resident_bytes, 1 << 20);
  EXPECT_GE(before.virtual_bytes, before.resident_bytes);
  constexpr int64_t kBytes = 32 << 20;
  const std::vector<char> touched(static_cast<size_t>(kBytes), 1);
  const ProcessMemory after = process_memory();
  EXPECT_GE(after.peak_resident_bytes, before.resident_bytes + kBytes * 9 / 10);
  EXPECT_EQ(touched.back(), 1);
}

TEST(ProcessMemoryTest, AnAddressSpaceLimitIsSeen) {
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
  const ProcessMemory held = process_memory();
  rlimit tight = old;
  tight.rlim_cur = static_cast<rlim_t>(held.virtual_bytes + (64 << 20));
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  const MemoryLimit limit = memory_limit(held);
  setrlimit(RLIMIT_AS, &old);
  EXPECT_EQ(limit.bytes, held.resident_bytes + (64 << 20) - kAddressSlackBytes);
  EXPECT_NE(limit.name.find("ulimit -v"), std::string::npos);
}

}  // namespace
}  // namespace fathom::xray
