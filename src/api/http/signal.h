// Lets a coroutine wait until something has changed; one thread only, so nothing is missed between
// a look and the wait. Called by api/http/connection. Read next: signal.cc.
#pragma once

#include <utility>
//
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace fathom::api::http {

class Signal {
 public:
  explicit Signal(boost::asio::io_context& io);

  // Returns after the next raise(). The caller looks again whether it has what it waits for.
  boost::asio::awaitable<void> wait();
  void raise();

 private:
  boost::asio::steady_timer timer_;  // never expires; cancelled
};

}  // namespace fathom::api::http
