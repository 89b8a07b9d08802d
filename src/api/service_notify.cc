// The protocol is one datagram to a local socket: see sd_notify(3).
// Read next: api/server.cc.
#include "api/service_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace fathom::api {

ServiceNotify::ServiceNotify(std::string socket, std::string_view watchdog_usec)
    : socket_(std::move(socket)) {
  int64_t usec = 0;
  std::from_chars(watchdog_usec.data(), watchdog_usec.data() + watchdog_usec.size(), usec);
  if (usec > 0 && !socket_.empty()) {
    interval_ = std::chrono::microseconds(usec / 2);
  }
}

ServiceNotify ServiceNotify::of_environment() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  const char* usec = std::getenv("WATCHDOG_USEC");
  return {socket != nullptr ? socket : "", usec != nullptr ? usec : ""};
}

void ServiceNotify::send(std::string_view state) const {
  sockaddr_un address{};
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) {
    return;
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') {
    address.sun_path[0] = '\0';  // a name that is no file
  }
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
    ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), size);
    ::close(fd);
  }
}

}  // namespace fathom::api
