// Decompose with utf8proc, order the marks ourselves, compose with utf8proc.
// Called by codec/normalizer. Read next: codec/gguf_fixups.cc, which says who normalizes.
#include "codec/normal_form.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/error.h"
#include "codec/utf8.h"

namespace fathom::codec {

namespace {

// The longest decomposition of one character has 18 code points (U+FDFA, compatibility).
constexpr size_t kMostParts = 24;

int combining_class(utf8proc_int32_t c) {
  return utf8proc_get_property(c)->combining_class;
}

// Full decomposition, marks not yet in order.
std::vector<utf8proc_int32_t> decompose(std::string_view text, bool compatible) {
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE |
                                                      (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> parts;
  parts.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Unit unit = read_utf8(text, at);
    utf8proc_int32_t buffer[kMostParts];
    int last_boundary = 0;
    const utf8proc_ssize_t n = utf8proc_decompose_char(
        static_cast<utf8proc_int32_t>(unit.character), buffer, kMostParts, options, &last_boundary);
    if (n < 0 || n > static_cast<utf8proc_ssize_t>(kMostParts)) {
      fail(ErrorCode::kInternal,
           fmt::format("cannot decompose U+{:04X}: {}", static_cast<uint32_t>(unit.character), n));
    }
    parts.insert(parts.end(), buffer, buffer + n);
    at += unit.size;
  }
  return parts;
}

// Canonical ordering: each run of marks sorted by class, stably. utf8proc's own loop is quadratic
// in the length of a run.
void order_marks(std::vector<utf8proc_int32_t>& parts) {
  for (auto run = parts.begin(); run != parts.end();) {
    if (combining_class(*run) == 0) {
      ++run;
      continue;
    }
    const auto end =
        std::find_if(run, parts.end(), [](utf8proc_int32_t c) { return combining_class(c) == 0; });
    std::stable_sort(run, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return combining_class(a) < combining_class(b);
    });
    run = end;
  }
}

}  // namespace

bool is_surely_normal(std::string_view text, NormalForm form) {
  const bool is_composed = form == NormalForm::kNfc;
  const unsigned char first = is_composed ? 0xCC : form == NormalForm::kNfd ? 0xC3 : 0xC2;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return static_cast<unsigned char>(c) < first; });
}

std::string to_normal_form(std::string_view text, NormalForm form) {
  if (is_surely_normal(text, form)) {
    return std::string(text);
  }
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  std::vector<utf8proc_int32_t> parts = decompose(text, compatible);
  order_marks(parts);
  auto n = static_cast<utf8proc_ssize_t>(parts.size());
  if (form == NormalForm::kNfc || form == NormalForm::kNfkc) {
    n = utf8proc_normalize_utf32(
        parts.data(), n, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  }
  if (n < 0) {
    fail(ErrorCode::kInternal, fmt::format("cannot compose a text: utf8proc error {}", n));
  }
  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < n; ++i) {
    append_utf8(out, static_cast<char32_t>(parts[static_cast<size_t>(i)]));
  }
  return out;
}

}  // namespace fathom::codec
