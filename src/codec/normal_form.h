// The four Unicode normalization forms, in time proportional to the text.
// Called by codec/normalizer. Source: Unicode Standard Annex 15.
#pragma once

#include <string>
#include <string_view>

namespace fathom::codec {

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// True when every character of `text` (valid UTF-8) lies below the first one that `form` changes:
// U+0300 for form C, U+00C0 for form D, U+00A0 for the two others.
bool is_surely_normal(std::string_view text, NormalForm form);

// `text` (valid UTF-8) in the form asked for.
std::string to_normal_form(std::string_view text, NormalForm form);

}  // namespace fathom::codec
