// Escapes and the terminal's own colours.
#include "token_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/cpu.h"
#include "codec/utf8.h"
#include "terminal.h"

namespace fathom::app {

namespace {

// Black on a soft background, legible on dark and light terminals.
constexpr std::array<int, 5> kBackgrounds = {152, 223, 183, 158, 217};

bool is_control(unsigned char c) {
  return c < 0x20 || c == 0x7F;
}

// Bytes of the character that begins here; 0 when they are no UTF-8.
size_t character_bytes(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  const size_t n = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return bytes.size() >= n && codec::is_valid_utf8(bytes.substr(0, n)) ? n : 0;
}

}  // namespace

std::string one_line(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const size_t n = character_bytes(bytes);
    const char c = bytes[0];
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (n == 0 || is_control(static_cast<unsigned char>(c))) {
      out += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    } else {
      out += bytes.substr(0, n);
    }
    bytes.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

std::string marked_lines(std::string_view bytes) {
  std::string out;
  for (size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    out += one_line(bytes.substr(0, end + 1)) + "\n";
    bytes.remove_prefix(end + 1);
  }
  return out + one_line(bytes);
}

std::string on_colour(std::string_view text, size_t index) {
  std::string out;
  const int background = kBackgrounds[index % kBackgrounds.size()];
  // A line end on a coloured ground would colour the rest of the line.
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) {
      out += fmt::format("\033[30;48;5;{}m{}\033[0m", background, text.substr(begin, end - begin));
    }
    out += end < text.size() ? "\n" : "";
    begin = end + 1;
  }
  return out;
}

bool stdout_has_colours() {
  return stdout_is_terminal() && !read_environment().no_color;
}

}  // namespace fathom::app
