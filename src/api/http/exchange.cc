// Header names are compared without regard to the case of ASCII letters.
// Read next: api/http/transport.h.
#include "api/http/exchange.h"

#include <algorithm>

namespace fathom::api::http {

namespace {

char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string_view find_header(const Headers& headers, std::string_view name) {
  const auto is_equal = [](char a, char b) { return to_lower(a) == to_lower(b); };
  for (const auto& [key, value] : headers) {
    if (std::equal(key.begin(), key.end(), name.begin(), name.end(), is_equal)) {
      return value;
    }
  }
  return {};
}

}  // namespace fathom::api::http
