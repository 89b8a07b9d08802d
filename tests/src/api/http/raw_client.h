// A client that is nothing but a socket: sends any bytes, reads what comes, closes when it likes.
// Called by tests of the transport and the server.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace fathom::test {

class RawClient {
 public:
  explicit RawClient(int port, int receive_buffer = 0) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    EXPECT_TRUE(is_open_);
  }

  ~RawClient() { close(); }

  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void close() {
    if (fd_ >= 0) {
      ::close(fd_);
      fd_ = -1;
    }
  }

  // Closes so that the other side gets a reset.
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) {
        return;  // closed on the other side; the test sees it by reading
      }
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }

  // Reads until the text so far holds `end` or the connection is closed. Gives all that was not
  // taken before, up to and with `end`.
  std::string read_until(std::string_view end) {
    while (true) {
      const size_t at = text_.find(end);
      if (at != std::string::npos) {
        std::string taken = text_.substr(0, at + end.size());
        text_.erase(0, at + end.size());
        return taken;
      }
      if (!read_some()) {
        ADD_FAILURE() << "closed or silent without '" << end << "' after: " << text_;
        return std::exchange(text_, {});
      }
    }
  }

  // Everything until the connection is closed.
  std::string read_all() {
    while (read_some()) {
    }
    return std::exchange(text_, {});
  }

  // One answer with Content-Length: head and body.
  std::string read_answer() {
    std::string answer = read_until("\r\n\r\n");
    const size_t at = answer.find("Content-Length: ");
    size_t length =
        at == std::string::npos ? 0 : std::strtoul(answer.c_str() + at + 16, nullptr, 10);
    while (text_.size() < length && read_some()) {
    }
    length = std::min(length, text_.size());
    answer += text_.substr(0, length);
    text_.erase(0, length);
    return answer;
  }

  std::string ask(std::string_view request) {
    send(request);
    return read_answer();
  }

 private:
  // False: the other side has closed, or nothing came for a minute.
  bool read_some() {
    pollfd wait{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, 60'000) <= 0) {
      ADD_FAILURE() << "nothing came for a minute";
      return false;
    }
    char buffer[4096];
    const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
    if (n <= 0) {
      return false;
    }
    text_.append(buffer, static_cast<size_t>(n));
    return true;
  }

  int fd_ = -1;
  bool is_open_ = false;
  std::string text_;
};

inline std::string get(std::string_view path, std::string_view headers = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n" + std::string(headers) + "\r\n";
}

inline std::string post(std::string_view path, std::string_view body,
                        std::string_view headers = "") {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(headers) + "\r\n" + std::string(body);
}

}  // namespace fathom::test
