// The table of well-formed sequences (Unicode Standard, table 3-7), read byte by byte.
// Called by codec/text_tokenizer, codec/detokenizer. Read next: codec/detokenizer.cc.
#include "codec/utf8.h"

#include <algorithm>

namespace fathom::codec {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// What a lead byte announces: bytes in all, and the range of the second byte. The later ones are
// always 80..BF. size 0: no character begins with this byte.
struct Lead {
  size_t size;
  unsigned char low, high;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) {
    return {1, 0, 0};
  }
  if (byte >= 0xC2 && byte <= 0xDF) {
    return {2, 0x80, 0xBF};
  }
  if (byte >= 0xE0 && byte <= 0xEF) {
    const auto low = static_cast<unsigned char>(byte == 0xE0 ? 0xA0 : 0x80);   // no overlong form
    const auto high = static_cast<unsigned char>(byte == 0xED ? 0x9F : 0xBF);  // no surrogates
    return {3, low, high};
  }
  if (byte >= 0xF0 && byte <= 0xF4) {
    const auto low = static_cast<unsigned char>(byte == 0xF0 ? 0x90 : 0x80);
    const auto high = static_cast<unsigned char>(byte == 0xF4 ? 0x8F : 0xBF);  // up to U+10FFFF
    return {4, low, high};
  }
  return {0, 0, 0};
}

}  // namespace

Utf8Unit read_utf8(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const Lead lead = lead_of(first);
  if (lead.size == 0) {
    return {Utf8Unit::Kind::kInvalid, 1, 0};
  }
  if (lead.size == 1) {
    return {Utf8Unit::Kind::kCharacter, 1, first};
  }
  char32_t character = first & (0x7Fu >> lead.size);
  for (size_t i = 1; i < lead.size; ++i) {
    if (at + i == text.size()) {
      return {Utf8Unit::Kind::kOpen, i, 0};
    }
    const auto byte = static_cast<unsigned char>(text[at + i]);
    const unsigned char low = i == 1 ? lead.low : 0x80;
    const unsigned char high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) {
      return {Utf8Unit::Kind::kInvalid, i, 0};
    }
    character = (character << 6) | (byte & 0x3Fu);
  }
  return {Utf8Unit::Kind::kCharacter, lead.size, character};
}

void append_utf8(std::string& out, char32_t character) {
  const auto tail = [&](int shift) {
    out += static_cast<char>(0x80u | ((character >> shift) & 0x3Fu));
  };
  if (character < 0x80) {
    out += static_cast<char>(character);
  } else if (character < 0x800) {
    out += static_cast<char>(0xC0u | (character >> 6));
    tail(0);
  } else if (character < 0x10000) {
    out += static_cast<char>(0xE0u | (character >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0u | (character >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

bool is_valid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Unit unit = read_utf8(text, at);
    if (unit.kind != Utf8Unit::Kind::kCharacter) {
      return false;
    }
    at += unit.size;
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Unit unit = read_utf8(text, at);
    if (unit.kind == Utf8Unit::Kind::kCharacter) {
      out.append(text, at, unit.size);
    } else {
      out += kReplacement;
    }
    at += unit.size;
  }
  return out;
}

size_t open_end_bytes(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const size_t at = text.size() - back;
    if ((static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80) {
      continue;  // a later byte of a character: look further back for its lead
    }
    const Utf8Unit unit = read_utf8(text, at);
    return unit.kind == Utf8Unit::Kind::kOpen ? unit.size : 0;
  }
  return 0;
}

}  // namespace fathom::codec
