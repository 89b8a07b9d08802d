// What is read, and what is refused without waiting for it.
#include "base/regular_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom {

namespace {

using test::expect_error;

TEST(RegularFile, ReadsItAll) {
  const test::TempFolder folder;
  const std::string text(200'000, 'x');
  const RegularFile file(folder.write("a", text));
  EXPECT_EQ(file.size(), 200'000);
  EXPECT_EQ(file.read(200'000), text);
  EXPECT_EQ(file.read(1 << 20), text) << "a second time from the begin";
  EXPECT_EQ(RegularFile(folder.write("empty", "")).read(0), "");
  ASSERT_EQ(::symlink("a", folder.path_of("link").c_str()), 0);
  EXPECT_EQ(RegularFile(folder.path_of("link")).size(), 200'000);
}

TEST(RegularFile, RefusesWhatIsTooLong) {
  const test::TempFolder folder;
  const RegularFile file(folder.write("a", "12345"));
  expect_error([&] { (void)file.read(4); }, ErrorCode::kInvalidArgument,
               {"a: found more than 4 bytes"});
}

TEST(RegularFile, RefusesWhatIsNone) {
  const test::TempFolder folder;
  expect_error([&] { RegularFile(folder.path_of("absent")); }, ErrorCode::kNotFound,
               {"absent: cannot open"});
  expect_error([&] { RegularFile(folder.path()); }, ErrorCode::kInvalidArgument,
               {"is a folder, expected a regular file"});
  expect_error([] { RegularFile("/dev/null"); }, ErrorCode::kInvalidArgument, {"is a device"});
  const std::string fifo = folder.path_of("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_error([&] { const RegularFile file(fifo); }, ErrorCode::kInvalidArgument, {"is a FIFO"});
  const int writer = ::open(fifo.c_str(), O_RDWR | O_CLOEXEC);
  expect_error([&] { const RegularFile file(fifo); }, ErrorCode::kInvalidArgument, {"is a FIFO"});
  ::close(writer);
}

TEST(RegularFile, RefusesSockets) {
  const test::TempFolder folder;
  const std::string path = folder.path_of("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, path.c_str());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  expect_error([&] { const RegularFile file(path); }, ErrorCode::kInvalidArgument, {"socket"});
  ::close(socket);
}

}  // namespace

}  // namespace fathom
