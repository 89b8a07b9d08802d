// Unicode normalization form C, in time proportional to the text.
// Called by codec/bpe. Source: Unicode Standard Annex 15.
#pragma once

#include <string>
#include <string_view>

namespace fathom::codec {

// True when every character of `text` (valid UTF-8) lies below U+0300: such a text is in form C.
bool is_surely_nfc(std::string_view text);

// `text` (valid UTF-8) in form C.
std::string to_nfc(std::string_view text);

}  // namespace fathom::codec
