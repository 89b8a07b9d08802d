// Tells the service manager (systemd) how the server is: ready, alive, stopping.
// Called by api/server. Read next: docs/fathom.service.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::api {

// Does nothing where no manager asked for it.
class ServiceNotify {
 public:
  // The environment's NOTIFY_SOCKET and WATCHDOG_USEC; empty: none.
  ServiceNotify(std::string socket, std::string_view watchdog_usec);
  static ServiceNotify of_environment();

  // "READY=1", "STOPPING=1", "STATUS=..." and so on; lines between '\n'.
  void send(std::string_view state) const;

  // How often the manager wants to hear "WATCHDOG=1": half of its limit. Nothing: never.
  [[nodiscard]] std::optional<std::chrono::microseconds> interval() const { return interval_; }

 private:
  std::string socket_;
  std::optional<std::chrono::microseconds> interval_;
};

}  // namespace fathom::api
