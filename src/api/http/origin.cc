// scheme://host[:port], in the one way of writing it that browsers have.
#include "api/http/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fathom::api::http {

namespace {

bool is_letter(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_of(std::string_view text, std::string_view marks) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || is_digit(c) || marks.find(c) != std::string_view::npos;
  });
}

bool is_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    return is_of(host.substr(1, host.size() - 2), ":.");
  }
  return is_of(host, "-._");
}

bool is_port(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && is_digit(text.front()) &&
         port >= 1 && port <= 65535;
}

}  // namespace

std::string origin_fault(std::string_view text) {
  if (text == "*") {
    return {};
  }
  const auto refuse = [text](std::string_view why) {
    return fmt::format("'{}' is no origin of a page: {}; expected * or SCHEME://HOST[:PORT]", text,
                       why);
  };
  const size_t mark = text.find("://");
  if (mark == std::string_view::npos) {
    return refuse("it has no SCHEME://");
  }
  const std::string_view scheme = text.substr(0, mark);
  if (!is_of(scheme, "+-.") || !is_letter(scheme.front())) {
    return refuse("its scheme is not of small letters");
  }
  std::string_view host = text.substr(mark + 3);
  const size_t colon = host.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  const std::string_view port = has_port ? host.substr(colon + 1) : std::string_view();
  host = has_port ? host.substr(0, colon) : host;
  if (!is_host(host)) {
    return refuse("its host is not of small letters, digits, '-', '.' and '_', or has a path");
  }
  if (has_port && !is_port(port)) {
    return refuse("its port is no number from 1 to 65535");
  }
  if ((scheme == "http" && port == "80") || (scheme == "https" && port == "443")) {
    return refuse(fmt::format("browsers leave the port {} out", port));
  }
  return {};
}

}  // namespace fathom::api::http
