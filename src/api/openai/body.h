// The JSON body of a request, checked against the table of fields: names, types, ranges.
// Called by api/openai/request. Read next: api/openai/fields.cc, api/openai/body.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/openai/fields.h"

namespace fathom::api::openai {

// One prompt of a completion.
using Prompt = std::variant<std::string, std::vector<int32_t>>;

// Getters take names of fields that the route has and give `other` where the body has no such
// member, or null. Valid UTF-8 throughout.
class Body {
 public:
  // Errors, all RequestError with the field: JSON that is broken, deeper than
  // codec::kMaxJsonLevels, or has a key twice; a name that the route does not know; a type or range
  // that the table does not allow; a field that is refused.
  static Body parse(std::string_view text, Route route);

  ~Body();
  Body(Body&&) noexcept;
  Body& operator=(Body&&) noexcept;

  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name, bool other) const;
  [[nodiscard]] int64_t integer(std::string_view name, int64_t other) const;
  [[nodiscard]] double number(std::string_view name, double other) const;
  [[nodiscard]] std::string text(std::string_view name, std::string other) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  [[nodiscard]] std::vector<int32_t> ids(std::string_view name) const;
  [[nodiscard]] std::vector<std::pair<int32_t, float>> bias(std::string_view name) const;
  [[nodiscard]] std::vector<Prompt> prompts(std::string_view name) const;

  // A member of an object, where every member must be a flag of one of `names`.
  [[nodiscard]] bool flag_in(std::string_view object, std::string_view name,
                             std::initializer_list<std::string_view> names) const;

  // Members of the body that cannot change the answer.
  [[nodiscard]] const std::vector<std::string>& ignored() const;

 private:
  struct Data;

  explicit Body(std::unique_ptr<Data> data);

  std::unique_ptr<Data> data_;
};

}  // namespace fathom::api::openai
