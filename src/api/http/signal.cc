// A timer is Asio's way to park a coroutine. Read next: api/http/connection.cc.
#include "api/http/signal.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace fathom::api::http {

Signal::Signal(boost::asio::io_context& io)
    : timer_(io, boost::asio::steady_timer::time_point::max()) {}

boost::asio::awaitable<void> Signal::wait() {
  boost::system::error_code cancelled;
  co_await timer_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, cancelled));
}

void Signal::raise() {
  timer_.cancel();
}

}  // namespace fathom::api::http
