// Every field of every request as data: what it takes, what it does, or why it is refused. Parsing,
// error texts and docs/serving.md are made from this one table.
// Called by api/openai/body, api/openai/reference. Read next: api/openai/fields.cc.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace fathom::api::openai {

// Routes that take a body, as bits of Field::routes.
enum Route : uint8_t {
  kChat = 1,         // POST /v1/chat/completions
  kCompletions = 2,  // POST /v1/completions
  kTokenize = 4,     // POST /tokenize
  kDetokenize = 8,   // POST /detokenize
  kTemplate = 16,    // POST /apply-template
};

enum class FieldType : uint8_t {
  kBool,
  kInteger,   // low to high
  kNumber,    // low to high
  kText,      // low to high bytes
  kTexts,     // a text or a list of up to `high` texts of 1 to kMaxTextBytes bytes
  kIds,       // a list of `low` to `high` token ids
  kBias,      // {"ID": number} or [[ID, number]], each number low to high
  kPrompt,    // a text, a list of ids, or a list of up to `high` of them
  kMessages,  // a list of `low` to `high` messages
  kList,
  kObject,
  kAny,  // of fields that are ignored or refused
};

enum class FieldUse : uint8_t {
  kUsed,
  kIgnored,  // cannot change the answer; named in the header Fathom-Ignored
  kOnly,     // one value is allowed: that of `otherwise`
  kRefused,  // any value but null is refused, with the reason
};

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();
inline constexpr size_t kMaxTextBytes = 4096;

struct Field {
  std::string_view name;
  uint8_t routes = 0;
  FieldUse use = FieldUse::kUsed;
  FieldType type = FieldType::kAny;
  double low = -kNoLimit;
  double high = kNoLimit;
  std::string_view otherwise;  // without the field, or null: JSON, or words
  std::string_view says;       // what it does, or why it is refused
};

// In the order of the documents.
std::span<const Field> fields();

// The field of this name on this route; null: unknown there.
const Field* find_field(std::string_view name, Route route);

// "a number from 0 to 2", "true or false": for errors and documents.
std::string describe_type(const Field& field);

// "/v1/chat/completions"
std::string_view path_of(Route route);

}  // namespace fathom::api::openai
