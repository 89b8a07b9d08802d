// One value of a request against its row of the table of fields.
// Called by api/openai/body. Read next: api/openai/field_check.cc, api/openai/fields.h.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/openai/fields.h"

namespace fathom::api::openai {

// Error: RequestError naming the field and the place within it, what was found and what is
// expected.
void check_value(const Field& field, const nlohmann::json& value);

// Throws RequestError (kBadRequest); `param` is the field, or "".
[[noreturn]] void refuse(std::string_view param, const std::string& message);

// The begin of a value as JSON, in whole characters.
std::string shown(const nlohmann::json& value);

// A token id written as text, as in the keys of logit_bias.
std::optional<int32_t> parse_id(std::string_view text);

}  // namespace fathom::api::openai
