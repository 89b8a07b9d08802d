// Base64, the alphabet with + and /.
// Called by codec/tiktoken, codec/json_normalizers. Source: RFC 4648, section 4.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fathom::codec {

// Nothing when `text` holds another character; padding at the end may be missing.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace fathom::codec
