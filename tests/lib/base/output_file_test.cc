// Tests of base/output_file: whole or not at all, and nothing in the way is destroyed.
#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom {

namespace {

using test::expect_error;

TEST(OutputFile, AppearsAtCommitAndNotBefore) {
  const test::TempFolder folder;
  const std::string path = folder.write("out.txt", "old");
  OutputFile file(path);
  file.write("new ");
  file.write(std::string_view("text"));
  EXPECT_EQ(test::read_text(path), "old");
  file.commit();
  EXPECT_EQ(test::read_text(path), "new text");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"out.txt"}));
}

TEST(OutputFile, WithoutCommitNothingIsLeft) {
  const test::TempFolder folder;
  const std::string path = folder.write("out.txt", "old");
  {
    OutputFile file(path);
    file.write("half");
    EXPECT_EQ(folder.names().size(), 2U);
  }
  EXPECT_EQ(test::read_text(path), "old");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"out.txt"}));
}

TEST(OutputFile, TwoAtOnceUseDifferentNames) {
  const test::TempFolder folder;
  OutputFile a(folder.path_of("out"));
  OutputFile b(folder.path_of("out"));
  a.write("a");
  b.write("b");
  a.commit();
  b.commit();
  EXPECT_EQ(test::read_text(folder.path_of("out")), "b");
}

TEST(OutputFile, ALinkStaysALink) {
  const test::TempFolder folder;
  folder.write("target", "old");
  ASSERT_EQ(::symlink("target", folder.path_of("link").c_str()), 0);
  OutputFile file(folder.path_of("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path_of("link")));
  EXPECT_EQ(test::read_text(folder.path_of("target")), "new");
}

TEST(OutputFile, RefusesFoldersAndDevices) {
  const test::TempFolder folder;
  expect_error([&] { OutputFile(folder.path()); }, ErrorCode::kInvalidArgument, {"folder"});
  expect_error([] { OutputFile("/dev/null"); }, ErrorCode::kInvalidArgument, {"device"});
  expect_error([&] { OutputFile(folder.path_of("no/such/out")); }, ErrorCode::kNotFound,
               {"no/such/out: cannot create"});
}

// A link planted under the temporary name is not followed: the next free name is taken.
TEST(OutputFile, APlantedTemporaryNameIsNotFollowed) {
  const test::TempFolder folder;
  const std::string temporary = folder.path_of("out.tmp-" + std::to_string(::getpid()) + "-0");
  ASSERT_EQ(::symlink("victim", temporary.c_str()), 0);
  OutputFile file(folder.path_of("out"));
  file.write("text");
  file.commit();
  EXPECT_EQ(test::read_text(folder.path_of("out")), "text");
  EXPECT_FALSE(std::filesystem::exists(folder.path_of("victim")));
}

TEST(OutputFile, AVanishedFolderFailsTheCommit) {
  const test::TempFolder folder;
  const std::string inner = folder.path_of("inner");
  std::filesystem::create_directory(inner);
  OutputFile file(inner + "/out");
  file.write("text");
  std::filesystem::remove_all(inner);
  expect_error([&] { file.commit(); }, ErrorCode::kResourceExhausted, {"cannot rename"});
}

}  // namespace

}  // namespace fathom
