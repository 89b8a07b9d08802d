// Reads the JSON once and checks each member by its row of the table.
// Called by api/openai/request. Read next: api/openai/fields.cc.
#include "api/openai/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "api/openai/errors.h"
#include "api/openai/field_check.h"
#include "codec/json_text.h"

namespace fathom::api::openai {

struct Body::Data {
  explicit Data(nlohmann::json parsed) : root(std::move(parsed)) {}

  nlohmann::json root;
  std::vector<std::string> ignored;
};

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxMembers =
    4096;  // of one object: template engines look through them one by one

// Watches the parser: no key twice in an object, and where in the body it is.
class Watch {
 public:
  bool operator()(int /*depth*/, Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (keys_.size() == 1) {
        field_ = key;
      }
      if (keys_.back().size() == kMaxMembers) {
        refuse(field_, fmt::format("{}: an object has more than {} keys", field_, kMaxMembers));
      }
      if (!keys_.back().insert(key).second) {
        refuse(field_,
               fmt::format("{}: the key {} stands twice in one object", field_, shown(value)));
      }
    }
    return true;
  }

  [[nodiscard]] const std::string& field() const { return field_; }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
  std::string field_;
};

Json parse_json(std::string_view text) {
  const size_t deep = codec::find_too_deep(text);
  if (deep != std::string_view::npos) {
    refuse({}, fmt::format("the body is nested deeper than {} levels, at byte {}",
                           codec::kMaxJsonLevels, deep));
  }
  Watch watch;
  try {
    return Json::parse(text, std::ref(watch));
  } catch (const Json::parse_error& error) {
    refuse(watch.field(), fmt::format("the body is not JSON, at byte {}: {}", error.byte,
                                      codec::reason_of(error)));
  } catch (const Json::exception& error) {  // a number beyond what 64 bits hold
    refuse(watch.field(), fmt::format("{}: {}", watch.field(), codec::reason_of(error)));
  }
}

// Checks one member; gives whether it is one that cannot change the answer.
bool check_member(Route route, const std::string& name, const Json& value) {
  const Field* field = find_field(name, route);
  if (field == nullptr) {
    refuse(name, fmt::format("unknown field {} in {}", shown(Json(name)), path_of(route)));
  }
  if (value.is_null()) {
    return false;
  }
  switch (field->use) {
    case FieldUse::kUsed:
      check_value(*field, value);
      break;
    case FieldUse::kIgnored:
      return true;
    case FieldUse::kOnly:
      if (value != Json::parse(field->otherwise)) {
        throw RequestError(Cause::kNotOffered,
                           fmt::format("{}: found {}, only {} is offered: {}", name, shown(value),
                                       field->otherwise, field->says),
                           name);
      }
      break;
    case FieldUse::kRefused:
      throw RequestError(Cause::kNotOffered,
                         fmt::format("{} is not offered: {}", name, field->says), name);
  }
  return false;
}

// The member of that name; null: there is none, or it is JSON's null.
const Json* find(const Json& root, std::string_view name) {
  const auto found = root.find(name);
  return found == root.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

Body::Body(std::unique_ptr<Data> data) : data_(std::move(data)) {}

Body::~Body() = default;
Body::Body(Body&&) noexcept = default;
Body& Body::operator=(Body&&) noexcept = default;

Body Body::parse(std::string_view text, Route route) {
  auto data = std::make_unique<Data>(parse_json(text));
  if (!data->root.is_object()) {
    refuse({}, fmt::format("the body is {}, expected a JSON object", shown(data->root)));
  }
  for (const auto& [name, value] : data->root.items()) {
    if (check_member(route, name, value)) {
      data->ignored.push_back(name);
    }
  }
  return Body(std::move(data));
}

bool Body::has(std::string_view name) const {
  return find(data_->root, name) != nullptr;
}

bool Body::flag(std::string_view name, bool other) const {
  const Json* value = find(data_->root, name);
  return value == nullptr ? other : value->get<bool>();
}

int64_t Body::integer(std::string_view name, int64_t other) const {
  const Json* value = find(data_->root, name);
  return value == nullptr ? other : value->get<int64_t>();
}

double Body::number(std::string_view name, double other) const {
  const Json* value = find(data_->root, name);
  return value == nullptr ? other : value->get<double>();
}

std::string Body::text(std::string_view name, std::string other) const {
  const Json* value = find(data_->root, name);
  return value == nullptr ? std::move(other) : value->get<std::string>();
}

std::vector<std::string> Body::texts(std::string_view name) const {
  const Json* value = find(data_->root, name);
  if (value == nullptr) {
    return {};
  }
  return value->is_array() ? value->get<std::vector<std::string>>()
                           : std::vector<std::string>{value->get<std::string>()};
}

std::vector<int32_t> Body::ids(std::string_view name) const {
  const Json* value = find(data_->root, name);
  return value == nullptr ? std::vector<int32_t>() : value->get<std::vector<int32_t>>();
}

std::vector<std::pair<int32_t, float>> Body::bias(std::string_view name) const {
  std::vector<std::pair<int32_t, float>> pairs;
  const Json* value = find(data_->root, name);
  if (value == nullptr) {
    return pairs;
  }
  for (const auto& [key, entry] : value->items()) {
    if (value->is_object()) {
      pairs.emplace_back(*parse_id(key), entry.get<float>());
    } else {
      pairs.emplace_back(entry[0].get<int32_t>(), entry[1].get<float>());
    }
  }
  return pairs;
}

std::vector<Prompt> Body::prompts(std::string_view name) const {
  const Json* value = find(data_->root, name);
  if (value == nullptr) {
    return {};
  }
  const auto read = [](const Json& one) -> Prompt {
    return one.is_string() ? Prompt(one.get<std::string>())
                           : Prompt(one.get<std::vector<int32_t>>());
  };
  if (value->is_string() || value->front().is_number()) {
    return {read(*value)};
  }
  std::vector<Prompt> prompts;
  std::ranges::transform(*value, std::back_inserter(prompts), read);
  return prompts;
}

bool Body::flag_in(std::string_view object, std::string_view name,
                   std::initializer_list<std::string_view> names) const {
  const Json* value = find(data_->root, object);
  bool is_set = false;
  if (value == nullptr) {
    return is_set;
  }
  for (const auto& [key, entry] : value->items()) {
    if (std::ranges::find(names, key) == names.end()) {
      refuse(object, fmt::format("{}: unknown member {}", object, shown(Json(key))));
    }
    if (!entry.is_boolean() && !entry.is_null()) {
      refuse(object,
             fmt::format("{}.{}: found {}, expected true or false", object, key, shown(entry)));
    }
    is_set = key == name ? entry.is_boolean() && entry.get<bool>() : is_set;
  }
  return is_set;
}

const std::vector<std::string>& Body::ignored() const {
  return data_->ignored;
}

}  // namespace fathom::api::openai
