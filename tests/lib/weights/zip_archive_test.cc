// Tests of weights/zip_archive: archives as torch and others write them, and ones that lie.
#include "weights/zip_archive.h"

#include <gtest/gtest.h>

#include <random>

#include "support/error_check.h"
#include "support/zip_builder.h"

namespace fathom::weights {

namespace {

using test::expect_error;
using test::ZipBuilder;
using test::ZipItem;

std::string content(const ZipArchive& archive, std::string_view name) {
  const ZipEntry* entry = archive.find(name);
  if (entry == nullptr) {
    return "none";
  }
  return {reinterpret_cast<const char*>(entry->bytes.data()), entry->bytes.size()};
}

void expect_refused(const std::vector<std::byte>& bytes, ErrorCode code,
                    std::initializer_list<std::string_view> parts) {
  expect_error([&] { (void)ZipArchive(bytes, "m.bin"); }, code, parts);
}

void expect_corrupt(const ZipBuilder& zip, std::initializer_list<std::string_view> parts) {
  expect_refused(zip.bytes(), ErrorCode::kCorruptFile, parts);
}

ZipItem item(std::string_view name, size_t n_bytes) {
  ZipItem result;
  result.name = name;
  result.bytes.resize(n_bytes, std::byte{'x'});
  return result;
}

TEST(ZipArchive, FindsStoredEntries) {
  const auto bytes = ZipBuilder().align(64).add("m/b", "two").add("m/a", "1").add("m/", "").bytes();
  const ZipArchive archive(bytes, "m.bin");
  EXPECT_EQ(archive.entries().size(), 3U);
  EXPECT_EQ(content(archive, "m/a"), "1");
  EXPECT_EQ(content(archive, "m/b"), "two");
  EXPECT_EQ(content(archive, "m/"), "");
  EXPECT_EQ(archive.find("a"), nullptr);
  EXPECT_EQ(archive.find("m/b")->content_offset, 64U);
  EXPECT_EQ(archive.find("m/b")->bytes.data(), bytes.data() + 64);
}

TEST(ZipArchive, FollowsZip64Fields) {
  ZipItem big = item("big", 5);
  big.is_64 = true;
  big.extra = {std::byte{9}, std::byte{9}, std::byte{1}, std::byte{0},
               std::byte{7}};  // another one
  const auto bytes = ZipBuilder().add("small", "s").add(big).use_zip64().bytes();
  const ZipArchive archive(bytes, "m.bin");
  EXPECT_EQ(content(archive, "big"), "xxxxx");
  EXPECT_EQ(content(archive, "small"), "s");
}

TEST(ZipArchive, ACommentMayFollow) {
  const auto bytes = ZipBuilder().add("a", "1").comment(std::string(65535, 'c')).bytes();
  EXPECT_EQ(content(ZipArchive(bytes, "m.bin"), "a"), "1");
}

TEST(ZipArchive, AnEmptyArchiveHasNoEntries) {
  const auto bytes = ZipBuilder().bytes();
  EXPECT_TRUE(ZipArchive(bytes, "m.bin").entries().empty());
}

TEST(ZipArchive, CompressedAndEncryptedEntriesAreRefusedByName) {
  ZipItem deflated = item("m/data/0", 3);
  deflated.method = 8;
  deflated.n_bytes = 0x7fffffff;  // a bomb, were it unpacked
  expect_refused(ZipBuilder().add(deflated).bytes(), ErrorCode::kUnsupported,
                 {"entry \"m/data/0\"", "compression method: found 8 (deflated)", "0 (stored)"});
  ZipItem hidden = item("m/data/0", 3);
  hidden.local_method = 8;  // only its own header says so
  expect_refused(ZipBuilder().add(hidden).bytes(), ErrorCode::kUnsupported,
                 {"m.bin: byte 0: entry \"m/data/0\"", "found 8 (deflated)"});
  ZipItem encrypted = item("m/data/0", 3);
  encrypted.flags = 1;
  expect_refused(ZipBuilder().add(encrypted).bytes(), ErrorCode::kUnsupported, {"encrypted"});
}

TEST(ZipArchive, SizesBeyondTheFile) {
  ZipItem bomb = item("m/data/0", 3);
  bomb.is_64 = true;
  bomb.bytes64 = uint64_t{1} << 40;
  expect_corrupt(ZipBuilder().add(bomb),
                 {"entry \"m/data/0\", size: found 1099511627776 bytes", "left behind"});
  bomb.bytes64 = ~uint64_t{0};
  expect_corrupt(ZipBuilder().add(bomb), {"size: found 18446744073709551615 bytes"});
  ZipItem longer = item("a", 3);
  longer.n_bytes = 20;  // the content and what describes it take 3 + 16
  longer.packed_bytes = 20;
  expect_corrupt(ZipBuilder().add(longer),
                 {"entry \"a\", size: found 20 bytes, allowed at most 19"});
  ZipItem unequal = item("a", 3);
  unequal.packed_bytes = 2;
  expect_corrupt(ZipBuilder().add(unequal), {"found 3 bytes packed to 2", "equal sizes"});
  ZipItem lost = item("a", 3);
  lost.local_offset = 1000;
  expect_corrupt(ZipBuilder().add(lost), {"local header offset: found 1000"});
  lost.local_offset = 1;
  expect_corrupt(ZipBuilder().add(lost), {"local header: found", "allowed 0x04034b50"});
  ZipItem bare = item("a", 3);
  bare.n_bytes = 0xffffffff;
  expect_corrupt(ZipBuilder().add(bare), {"ZIP64 extra field"});
}

TEST(ZipArchive, EntriesNeitherOverlapNorStandTwice) {
  ZipItem inner = item("inner", 2);
  ZipItem outer = item("outer", 3);
  outer.n_bytes = 60;  // reaches over the next header
  outer.packed_bytes = 60;
  expect_corrupt(ZipBuilder().add(outer).add(inner),
                 {"entry \"inner\"", "or more: entry \"outer\" reaches"});
  ZipItem same = item("a", 2);
  ZipItem twin = item("a", 2);
  expect_corrupt(ZipBuilder().add(same).add(twin), {"entry \"a\", name: found it a second time"});
  twin.name = "b";
  twin.local_offset = 0;  // two names for one content
  twin.local_name = "b";
  expect_corrupt(ZipBuilder().add(same).add(twin), {"entry name: found \"a\""});
}

TEST(ZipArchive, CountsAndPlacesOfTheDirectory) {
  const auto one = [] { return ZipBuilder().add("a", "1"); };
  expect_corrupt(one().claim_n_entries(40000), {"number of entries: found 40000", "at most 1"});
  expect_corrupt(one().claim_n_entries(2), {"number of entries: found 2"});
  expect_corrupt(one().claim_n_entries(0), {"central directory: found 47 bytes behind the last"});
  expect_corrupt(one().use_zip64().claim_n_entries(uint64_t{1} << 63),
                 {"number of entries: found 9223372036854775808"});
  expect_corrupt(one().claim_directory_bytes(1000), {"central directory: found 1000 bytes"});
  expect_corrupt(one().claim_directory_offset(0xfffffff0), {"central directory: found"});
  expect_corrupt(one().use_zip64().claim_directory_offset(~uint64_t{0}),
                 {"from byte 18446744073709551615"});
  expect_corrupt(one().claim_directory_offset(0), {"central directory entry: found 0x04034b50"});
  expect_refused(one().disk(1).bytes(), ErrorCode::kUnsupported, {"disk number: found 1"});
  expect_corrupt(one().disk(0xffff), {"ZIP64 locator"});
}

TEST(ZipArchive, CutOffAnywhere) {
  const auto whole = ZipBuilder().add("m/a", "12345").add("m/b", "6").use_zip64().bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    expect_refused({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)},
                   ErrorCode::kCorruptFile, {"m.bin: byte ", "no end record", "cut off"});
  }
}

TEST(ZipArchive, RandomByteFlipsNeverCrash) {
  const auto whole = ZipBuilder().align(16).add("m/a", "12345").add("m/b", "6").use_zip64().bytes();
  std::mt19937 random(3);
  int n_refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = whole;
    for (uint32_t n = 0; n <= random() % 3; ++n) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    try {
      const ZipArchive archive(bytes, "m.bin");
      for (const ZipEntry& entry : archive.entries()) {
        ASSERT_LE(entry.content_offset + entry.bytes.size(), bytes.size());
      }
    } catch (const Error&) {
      ++n_refused;
    }
  }
  EXPECT_GT(n_refused, 1000);
}

}  // namespace

}  // namespace fathom::weights
