// JSON as text: how deep it is, the members of an object as they are written, what a parser found
// wrong.
// Called by codec/conversation, codec/jsonl_protocol, codec/template_jsonl. Source: RFC 8259.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fathom::codec {

// Levels of lists and objects that requests may have: more than any needs, few enough for every
// recursion behind.
inline constexpr int kMaxJsonLevels = 200;

// The byte at which `json` (valid or not) goes deeper than kMaxJsonLevels; npos if it does not.
size_t find_too_deep(std::string_view json);

// Error: kInvalidArgument for a text that goes deeper, with the byte.
void require_shallow(std::string_view json);

// Keys and values of an object in its order, values as they are written: integers keep their
// digits. `json` must be a valid object.
std::vector<std::pair<std::string, std::string_view>> members_of(std::string_view json);

// What nlohmann's exception says, without its own marks: "syntax error while parsing value -
// unexpected end of input".
std::string reason_of(const std::exception& error);

}  // namespace fathom::codec
