// Categories and case from utf8proc; what its tables lack is said here.
#include "codec/jinja_unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "codec/jinja_text.h"
#include "codec/utf8.h"

namespace fathom::codec::jinja {

namespace {

using Range = std::pair<char32_t, char32_t>;

// Digits that are no decimal numbers: superscripts, circled and the like (Numeric_Type=Digit).
constexpr std::array<Range, 20> kOtherDigits = {{
    {0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
    {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
    {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A},
}};

// Letters of the Han script that stand for numbers.
constexpr std::u32string_view kHanNumbers =
    U"\u3405\u3483\u382A\u3B4D\u4E00\u4E03\u4E07\u4E09\u4E5D\u4E8C\u4E94\u4E96\u4EBF\u4EC0\u4EDF"
    U"\u4EE8\u4F0D\u4F70\u5104\u5146\u5169\u516B\u516D\u5341\u5343\u5344\u5345\u534C\u53C1\u53C2"
    U"\u53C3\u53C4\u56DB\u58F1\u58F9\u5E7A\u5EFE\u5EFF\u5F0C\u5F0D\u5F0E\u5F10\u62FE\u634C\u67D2"
    U"\u6F06\u7396\u767E\u8086\u842C\u8CAE\u8CB3\u8D30\u9621\u9646\u964C\u9678\u96F6";

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool in_ranges(char32_t c, const auto& ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const Range& range) { return range.first <= c && c <= range.second; });
}

char32_t simple_upper(char32_t c) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
}

char32_t simple_lower(char32_t c) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

// Full case folding, up to three characters.
std::u32string fold(char32_t c) {
  std::array<utf8proc_int32_t, 8> out{};
  int last_class = 0;
  const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), out.data(), out.size(),
                                         UTF8PROC_CASEFOLD, &last_class);
  std::u32string folded;
  for (utf8proc_ssize_t i = 0; i < n && i < 8; ++i) {
    folded += static_cast<char32_t>(out[static_cast<size_t>(i)]);
  }
  return folded.empty() ? std::u32string(1, c) : folded;
}

// A character that becomes several in upper case: those fold to several, and are no capitals.
bool expands(char32_t c, std::u32string& folded) {
  if (c < 0xDF || category(c) == UTF8PROC_CATEGORY_LU) {
    return false;
  }
  folded = fold(c);
  return folded.size() > 1;
}

void append_upper(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    return;
  }
  std::u32string folded;
  if (expands(c, folded)) {
    for (const char32_t f : folded) {
      append_utf8(out, simple_upper(f));
    }
  } else {
    append_utf8(out, simple_upper(c));
  }
}

bool is_cased(char32_t c) {
  return is_upper(c) || is_lower(c) || is_title(c);
}

// Marks and signs that the rule of the final sigma looks through.
bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2019;
  }
}

bool is_final_sigma(std::string_view text, size_t at) {
  size_t before = at;
  bool found = false;
  while (before > 0 && !found) {
    before = char_before(text, before);
    const char32_t c = char_at(text, before);
    if (!is_case_ignorable(c)) {
      if (!is_cased(c)) {
        return false;
      }
      found = true;
    }
  }
  if (!found) {
    return false;
  }
  for (size_t after = at + 2; after < text.size(); after += char_size(text, after)) {
    const char32_t c = char_at(text, after);
    if (!is_case_ignorable(c)) {
      return !is_cased(c);
    }
  }
  return true;
}

void append_lower(std::string& out, std::string_view text, size_t at) {
  const char32_t c = char_at(text, at);
  if (c < 0x80) {
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  } else if (c == 0x130) {
    out += "i\u0307";
  } else if (c == 0x3A3) {
    append_utf8(out, is_final_sigma(text, at) ? 0x3C2 : 0x3C3);
  } else {
    append_utf8(out, simple_lower(c));
  }
}

template <class F>
std::string map_chars(std::string_view text, F fn) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size(); at += char_size(text, at)) {
    fn(out, at);
  }
  return out;
}

}  // namespace

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_line_break(char32_t c) {
  return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool is_alpha(char32_t c) {
  const auto cat = category(c);
  return cat >= UTF8PROC_CATEGORY_LU && cat <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) {
  return c < 0x80 ? c >= '0' && c <= '9' : category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t c) {
  return is_decimal(c) || in_ranges(c, kOtherDigits);
}

bool is_numeric(char32_t c) {
  const auto cat = category(c);
  return cat == UTF8PROC_CATEGORY_ND || cat == UTF8PROC_CATEGORY_NL ||
         cat == UTF8PROC_CATEGORY_NO || kHanNumbers.find(c) != std::u32string_view::npos;
}

bool is_word(char32_t c) {
  return c == '_' || is_alpha(c) || is_numeric(c);
}

bool is_identifier_start(char32_t c) {
  return c == '_' || is_alpha(c) || category(c) == UTF8PROC_CATEGORY_NL;
}

bool is_upper(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LU || (c >= 0x2160 && c <= 0x216F) ||
         (c >= 0x24B6 && c <= 0x24CF) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

bool is_lower(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LL || c == 0xAA || c == 0xBA ||
         (c >= 0x2B0 && c <= 0x2B8) || c == 0x2C0 || c == 0x2C1 || (c >= 0x2E0 && c <= 0x2E4) ||
         c == 0x345 || c == 0x37A || (c >= 0x1D2C && c <= 0x1D6A) || c == 0x1D78 ||
         (c >= 0x1D9B && c <= 0x1DBF) || c == 0x2071 || c == 0x207F ||
         (c >= 0x2090 && c <= 0x209C) || (c >= 0x2170 && c <= 0x217F) ||
         (c >= 0x24D0 && c <= 0x24E9);
}

bool is_title(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LT;
}

bool is_printable(char32_t c) {
  if (c < 0x7F) {
    return c >= 0x20;
  }
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

std::string to_upper(std::string_view text) {
  return map_chars(text,
                   [&](std::string& out, size_t at) { append_upper(out, char_at(text, at)); });
}

std::string to_lower(std::string_view text) {
  return map_chars(text, [&](std::string& out, size_t at) { append_lower(out, text, at); });
}

std::string to_title_char(char32_t c) {
  std::string out;
  const auto title = static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c)));
  std::u32string folded;
  const bool is_plain = c < 0x80 || is_title(c) || (title != c && c != 0xDF);
  if (is_plain || !expands(c, folded)) {
    append_utf8(out, title);
    return out;
  }
  for (size_t i = 0; i < folded.size(); ++i) {
    const bool is_capital = i == 0 || c == 0x149;
    const bool is_iota_below = i > 0 && folded[i] == 0x3B9 && c >= 0x1F80;
    append_utf8(out, is_capital ? simple_upper(folded[i]) : is_iota_below ? 0x345 : folded[i]);
  }
  return out;
}

std::string casefold(std::string_view text) {
  return map_chars(text, [&](std::string& out, size_t at) {
    const char32_t c = char_at(text, at);
    if (c < 0x80) {
      append_lower(out, text, at);
      return;
    }
    for (const char32_t f : fold(c)) {
      append_utf8(out, f);
    }
  });
}

std::string swap_case(std::string_view text) {
  return map_chars(text, [&](std::string& out, size_t at) {
    const char32_t c = char_at(text, at);
    if (is_upper(c)) {
      append_lower(out, text, at);
    } else if (is_lower(c)) {
      append_upper(out, c);
    } else {
      append_utf8(out, c);
    }
  });
}

std::string capitalize(std::string_view text) {
  return map_chars(text, [&](std::string& out, size_t at) {
    if (at == 0) {
      out += to_title_char(char_at(text, 0));
    } else {
      append_lower(out, text, at);
    }
  });
}

std::string to_title(std::string_view text) {
  bool in_word = false;
  return map_chars(text, [&](std::string& out, size_t at) {
    const char32_t c = char_at(text, at);
    if (in_word) {
      append_lower(out, text, at);
    } else {
      out += to_title_char(c);
    }
    in_word = is_cased(c);
  });
}

bool has_only_case(std::string_view text, bool upper) {
  bool has_one = false;
  for (size_t at = 0; at < text.size(); at += char_size(text, at)) {
    const char32_t c = char_at(text, at);
    if (is_title(c) || (upper ? is_lower(c) : is_upper(c))) {
      return false;
    }
    has_one = has_one || (upper ? is_upper(c) : is_lower(c));
  }
  return has_one;
}

size_t skip_space(std::string_view text, size_t begin, size_t end) {
  while (begin < end && is_space(char_at(text, begin))) {
    begin += char_size(text, begin);
  }
  return begin;
}

size_t skip_space_back(std::string_view text, size_t begin, size_t end) {
  while (end > begin) {
    const size_t before = char_before(text, end);
    if (!is_space(char_at(text, before))) {
      break;
    }
    end = before;
  }
  return end;
}

}  // namespace fathom::codec::jinja
