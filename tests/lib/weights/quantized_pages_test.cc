// Which rows make a chunk, and that reading on after a release gives the same bytes.
#include "weights/quantized_pages.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "support/temp_folder.h"

namespace fathom::weights {
namespace {

// Resident kilobytes of the mapping, from /proc/self/smaps.
int64_t resident_kb(const MappedFile& file) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(file.path()) != std::string::npos) {
      inside = true;
    } else if (inside && line.starts_with("Rss:")) {
      return std::stoll(line.substr(4));
    }
  }
  return -1;
}

int64_t touch(const MappedFile& file) {
  int64_t sum = 0;
  for (size_t at = 0; at < file.bytes().size(); at += 512) {
    sum += std::to_integer<int64_t>(file.bytes()[at]);
  }
  return sum;
}

class QuantizedPagesTest : public testing::Test {
 protected:
  static constexpr int64_t kRows = 6000;
  static constexpr int64_t kRowBytes = 4096;

  QuantizedPagesTest() {
    const std::string path = folder_.write("pages.bin", std::string(kRows * kRowBytes, '\1'));
    file_ = std::make_unique<MappedFile>(path);
    SourceTensor source;
    source.file = file_.get();
    source.tensor.bytes = file_->bytes();
    sources_.push_back(source);
  }

  test::TempFolder folder_;
  std::unique_ptr<MappedFile> file_;
  std::vector<SourceTensor> sources_;
};

TEST_F(QuantizedPagesTest, ByRowsPagesGoChunkByChunk) {
  const PageCounter pages(kRows, &sources_, true);
  EXPECT_EQ(pages.total_bytes(), static_cast<size_t>(kRows * kRowBytes));
  const int64_t n = pages.rows_per_chunk();
  ASSERT_GT(n, 1);
  ASSERT_LT(n, kRows / 2);
  const int64_t sum = touch(*file_);
  const int64_t before = resident_kb(*file_);
  ASSERT_GE(before, kRows * kRowBytes / 1024);
  pages.note_rows(0, n - 1);
  EXPECT_EQ(resident_kb(*file_), before);
  pages.note_rows(n - 1, 1);
  EXPECT_LE(resident_kb(*file_), before - (n - 2) * kRowBytes / 1024);
  pages.note_rows(n, kRows - n);
  EXPECT_EQ(resident_kb(*file_), 0);
  EXPECT_EQ(touch(*file_), sum);
}

TEST_F(QuantizedPagesTest, SpreadRowsGoAtTheEnd) {
  const PageCounter pages(kRows, &sources_, false);
  EXPECT_EQ(pages.rows_per_chunk(), kRows);
  EXPECT_EQ(touch(*file_), kRows * kRowBytes / 512);
  pages.note_rows(100, kRows - 100);
  EXPECT_GT(resident_kb(*file_), 0);
  pages.note_rows(0, 100);
  EXPECT_EQ(resident_kb(*file_), 0);
}

}  // namespace
}  // namespace fathom::weights
