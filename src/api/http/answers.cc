// Nothing here knows sockets. Read next: api/http/connection.cc.
#include "api/http/answers.h"

#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

namespace fathom::api::http {

namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";  // the text means nothing to any client
  }
}

std::string_view type_of(int status) {
  if (status == 429) {
    return "rate_limit_error";
  }
  return status >= 500 ? "server_error" : "invalid_request_error";
}

std::string error_text(int status, std::string_view code, std::string_view message) {
  const nlohmann::json body = {
      {"error",
       {{"message", message}, {"type", type_of(status)}, {"param", nullptr}, {"code", code}}}};
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                     kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                     parts.tm_sec);
}

void add_header(std::string& text, std::string_view name, std::string_view value) {
  text += name;
  text += ": ";
  for (const char c : value) {
    text += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
  }
  text += "\r\n";
}

}  // namespace

Response error_response(int status, std::string_view code, std::string_view message) {
  Response response;
  response.status = status;
  response.body = error_text(status, code, message);
  return response;
}

std::string error_event(int status, std::string_view code, std::string_view message) {
  return fmt::format("data: {}\n\n", error_text(status, code, message));
}

std::string head_text(const Response& response, const Headers& extra, const HeadOptions& options) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  add_header(text, "Date", date_text());
  if (response.status != 204) {
    add_header(text, "Content-Type", response.content_type);
  }
  if (options.framing == Framing::kLength && response.status != 204) {
    add_header(text, "Content-Length", fmt::format("{}", response.body.size()));
  } else if (options.framing == Framing::kChunked) {
    add_header(text, "Transfer-Encoding", "chunked");
  }
  if (!options.keep_alive || options.framing == Framing::kClose) {
    add_header(text, "Connection", "close");
  }
  for (const Headers* headers : {&response.headers, &extra}) {
    for (const auto& [name, value] : *headers) {
      add_header(text, name, value);
    }
  }
  text += "\r\n";
  return text;
}

std::string chunk_text(std::string_view bytes) {
  return bytes.empty() ? std::string() : fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

}  // namespace fathom::api::http
