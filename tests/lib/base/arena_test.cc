// Tests of base/arena: alignment, zeroes, the planned limit, the peak.
#include "base/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/threads.h"
#include "support/error_check.h"

namespace fathom {

namespace {

using test::expect_error;

TEST(MemoryPool, PiecesAreAlignedZeroAndApart) {
  MemoryPool pool("weights", 4096);
  const auto a = pool.allocate(1);
  const auto b = pool.allocate_array<float>(3);
  const auto c = pool.allocate(64);
  EXPECT_EQ(a.size(), 1U);
  EXPECT_EQ(b.size(), 3U);
  for (const void* piece : {static_cast<const void*>(a.data()), static_cast<const void*>(b.data()),
                            static_cast<const void*>(c.data())}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % 64, 0U);
  }
  EXPECT_EQ(reinterpret_cast<std::byte*>(b.data()) - a.data(), 64);
  EXPECT_EQ(c.data() - a.data(), 128);
  EXPECT_TRUE(std::ranges::all_of(c, [](std::byte x) { return x == std::byte{0}; }));
  EXPECT_EQ(pool.used_bytes(), 192U);
  EXPECT_EQ(pool.name(), "weights");
}

TEST(MemoryPool, ThePlannedSizeIsTheLimit) {
  MemoryPool pool("kv", 256);
  EXPECT_EQ(pool.capacity_bytes(), 256U);
  (void)pool.allocate(192);
  expect_error([&] { (void)pool.allocate(65); }, ErrorCode::kOutOfMemory,
               {"'kv'", "65 bytes asked", "192 of 256"});
  expect_error([&] { (void)pool.allocate(~size_t{0}); }, ErrorCode::kOutOfMemory, {"'kv'"});
  EXPECT_EQ(pool.allocate(64).size(), 64U) << "a refusal changes nothing";
}

TEST(MemoryPool, ResetHandsBackAndKeepsThePeak) {
  MemoryPool pool("scratch", 1024);
  pool.allocate(300)[0] = std::byte{9};
  pool.reset();
  EXPECT_EQ(pool.used_bytes(), 0U);
  EXPECT_EQ(pool.peak_bytes(), 320U);
  EXPECT_EQ(pool.allocate(64)[0], std::byte{9}) << "bytes keep their content";
  EXPECT_EQ(pool.peak_bytes(), 320U);
}

// The kernel's own list of what is resident.
size_t count_resident(std::span<std::byte> bytes) {
  std::vector<unsigned char> pages((bytes.size() + 4095) / 4096);
  EXPECT_EQ(::mincore(bytes.data(), bytes.size(), pages.data()), 0);
  return static_cast<size_t>(std::ranges::count_if(pages, [](auto page) { return page & 1; }));
}

TEST(MemoryPool, PopulateMakesAllOfItResident) {
  ThreadPool threads(3);
  MemoryPool empty("none", 0);
  empty.populate(threads);
  for (const size_t n_bytes : {size_t{4096}, size_t{8} << 20, (size_t{17} << 20) + 4096}) {
    MemoryPool pool("kv", n_bytes);
    const auto bytes = pool.allocate(n_bytes);
    bytes.back() = std::byte{7};
    EXPECT_LE(count_resident(bytes), 512U) << "one page, huge or not";
    pool.populate(threads);
    EXPECT_EQ(count_resident(bytes), n_bytes / 4096) << n_bytes;
    EXPECT_EQ(bytes.back(), std::byte{7}) << "what was written stays";
    EXPECT_EQ(bytes.front(), std::byte{0});
  }
}

TEST(MemoryPool, EmptyAndImpossiblePools) {
  MemoryPool empty("none", 0);
  EXPECT_TRUE(empty.allocate(0).empty());
  expect_error([&] { (void)empty.allocate(1); }, ErrorCode::kOutOfMemory, {"'none'"});
  expect_error([] { MemoryPool("huge", size_t{1} << 60); }, ErrorCode::kOutOfMemory,
               {"'huge': cannot reserve"});
}

TEST(MemoryPool, PaddingIsTheRuleOfThePlan) {
  EXPECT_EQ(MemoryPool::padded_bytes(0), 0U);
  EXPECT_EQ(MemoryPool::padded_bytes(1), 64U);
  EXPECT_EQ(MemoryPool::padded_bytes(64), 64U);
  EXPECT_EQ(MemoryPool::padded_bytes(65), 128U);
}

}  // namespace

}  // namespace fathom
