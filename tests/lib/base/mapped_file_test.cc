// Tests of base/mapped_file: content, what is refused, release.
#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom {

namespace {

using test::expect_error;

TEST(MappedFile, ShowsTheWholeFile) {
  const test::TempFolder folder;
  const MappedFile file(folder.write("a.bin", "hello"));
  EXPECT_EQ(file.path(), folder.path_of("a.bin"));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  EXPECT_EQ(text, "hello");
}

TEST(MappedFile, FollowsLinks) {
  const test::TempFolder folder;
  folder.write("a.bin", "hello");
  ASSERT_EQ(::symlink("a.bin", folder.path_of("link").c_str()), 0);
  EXPECT_EQ(MappedFile(folder.path_of("link")).bytes().size(), 5U);
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  const test::TempFolder folder;
  expect_error([&] { MappedFile(folder.path_of("absent")); }, ErrorCode::kNotFound,
               {"absent: cannot open"});
  folder.write("file", "x");
  expect_error([&] { MappedFile(folder.path_of("file/below")); }, ErrorCode::kNotFound,
               {"file/below"});
  expect_error([&] { MappedFile(folder.path()); }, ErrorCode::kInvalidArgument, {"is a folder"});
  expect_error([&] { MappedFile(folder.write("empty", "")); }, ErrorCode::kCorruptFile,
               {"empty: the file is empty"});
  expect_error([] { MappedFile("/dev/null"); }, ErrorCode::kInvalidArgument, {"device"});
  const std::string fifo = folder.path_of("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_error([&] { const MappedFile file(fifo); }, ErrorCode::kInvalidArgument, {"FIFO"});
}

TEST(MappedFile, ReleasedBytesAreReadAgain) {
  const test::TempFolder folder;
  const MappedFile file(folder.write("a.bin", std::string(5 * 4096 + 7, 'q')));
  file.release(file.bytes());
  file.release(file.bytes().subspan(1, 100));  // less than a page: nothing to do
  for (const std::byte byte : file.bytes()) {
    ASSERT_EQ(byte, std::byte{'q'});
  }
}

}  // namespace

}  // namespace fathom
