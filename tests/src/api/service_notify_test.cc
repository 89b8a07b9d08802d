// A socket that plays the service manager.
#include "api/service_notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "support/temp_folder.h"

namespace fathom::api {
namespace {

TEST(ServiceNotify, SendsToTheManager) {
  const test::TempFolder folder;
  const std::string path = folder.path_of("notify");
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const ServiceNotify notify(path, "3000000");
  ASSERT_TRUE(notify.interval().has_value());
  EXPECT_EQ(notify.interval()->count(), 1500000);
  notify.send("READY=1\nSTATUS=well");
  char buffer[100];
  const ssize_t n = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
  ASSERT_GT(n, 0);
  EXPECT_EQ(std::string(buffer, static_cast<size_t>(n)), "READY=1\nSTATUS=well");
  ::close(fd);
  notify.send("STOPPING=1");  // nobody listens: no error
}

TEST(ServiceNotify, IsSilentWithoutAManager) {
  const ServiceNotify none("", "3000000");
  EXPECT_FALSE(none.interval().has_value());
  none.send("READY=1");
  EXPECT_FALSE(ServiceNotify("/tmp/x", "junk").interval().has_value());
}

}  // namespace
}  // namespace fathom::api
