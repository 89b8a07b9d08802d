// The checks behind every field that a file reader takes.
#include "weights/byte_reader.h"

#include <fmt/format.h>

namespace fathom::weights {

std::span<const std::byte> ByteReader::read_bytes(size_t count, std::string_view field) {
  if (count > remaining()) {
    fail_at(offset_, field, fmt::format("{} bytes left in the file", remaining()),
            fmt::format("{} bytes; the file is cut off or damaged", count));
  }
  const auto view = bytes_.subspan(offset_, count);
  offset_ += count;
  return view;
}

std::string_view ByteReader::read_line(size_t max_bytes, std::string_view field) {
  const size_t allowed = max_bytes < remaining() ? max_bytes : remaining();
  const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + offset_, remaining());
  const size_t length = rest.substr(0, allowed + 1).find('\n');
  if (length == std::string_view::npos) {
    fail_at(offset_, field, "no end of line", fmt::format("one within {} bytes", allowed));
  }
  offset_ += length + 1;
  return rest.substr(0, length);
}

std::string_view ByteReader::read_string(size_t max_bytes, std::string_view field) {
  const size_t start = offset_;
  const auto length = read<uint64_t>(field);
  const size_t allowed = max_bytes < remaining() ? max_bytes : remaining();
  if (length > allowed) {
    const size_t left = remaining();
    offset_ = start;
    fail_at(start, field, fmt::format("length {}", length),
            fmt::format("at most {} ({} bytes are left in the file)", allowed, left));
  }
  const auto view = read_bytes(static_cast<size_t>(length), field);
  return {reinterpret_cast<const char*>(view.data()), view.size()};
}

size_t ByteReader::read_count(size_t min_bytes_each, std::string_view field) {
  const size_t start = offset_;
  const auto count = read<uint64_t>(field);
  if (count > remaining() / min_bytes_each) {
    const size_t left = remaining();
    offset_ = start;
    fail_at(start, field, fmt::format("{}", count),
            fmt::format("at most {} ({} bytes are left, each takes {} or more)",
                        left / min_bytes_each, left, min_bytes_each));
  }
  return static_cast<size_t>(count);
}

void ByteReader::fail_at(size_t offset, std::string_view field, std::string_view found,
                         std::string_view allowed, ErrorCode code) const {
  const std::string subject =
      kind_.empty() ? std::string() : fmt::format("{} {}, ", kind_, in_quotes(subject_name_));
  fail(code, fmt::format("{}: byte {}: {}{}: found {}, allowed {}", name_, offset, subject, field,
                         found, allowed));
}

std::string in_quotes(std::string_view text) {
  constexpr size_t kMaxPrinted = 200;
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxPrinted)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += '"';
  if (text.size() > kMaxPrinted) {
    out += fmt::format("... ({} bytes)", text.size());
  }
  return out;
}

}  // namespace fathom::weights
