// nlohmann's parser hands over events; a stack of open values makes a tree of them.
// Called by codec/json_normalizers and its kin. Read next: codec/tokenizer_json.cc.
#include "codec/json_part.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace fathom::codec {

namespace {

constexpr size_t kMostLevels = 64;

std::string_view name_of(JsonPart::Type type) {
  switch (type) {
    case JsonPart::Type::kNull:
      return "null";
    case JsonPart::Type::kBool:
      return "true or false";
    case JsonPart::Type::kNumber:
      return "a number";
    case JsonPart::Type::kText:
      return "a text";
    case JsonPart::Type::kList:
      return "a list";
    case JsonPart::Type::kObject:
      return "an object";
  }
  return "?";
}

}  // namespace

// Receives the parser's events.
class JsonPart::Builder {
 public:
  explicit Builder(JsonPart& root) : root_(root) {}

  bool null() {
    return put([](JsonPart&) {});
  }

  bool boolean(bool value) {
    return put([&](JsonPart& part) {
      part.type_ = Type::kBool;
      part.flag_ = value;
    });
  }

  bool number_integer(int64_t value) { return put_number(static_cast<double>(value)); }

  bool number_unsigned(uint64_t value) { return put_number(static_cast<double>(value)); }

  bool number_float(double value, const std::string& /*text*/) { return put_number(value); }

  bool string(std::string& value) {
    return put([&](JsonPart& part) {
      part.type_ = Type::kText;
      part.text_ = std::move(value);
    });
  }

  bool binary(nlohmann::json::binary_t& /*value*/) { return false; }

  bool start_object(size_t /*n*/) { return open(Type::kObject); }

  bool start_array(size_t /*n*/) { return open(Type::kList); }

  bool end_object() { return close(); }

  bool end_array() { return close(); }

  bool key(std::string& value) {
    open_.back()->fields_.emplace_back(std::move(value), JsonPart());
    return true;
  }

  bool parse_error(size_t offset, const std::string& token,
                   const nlohmann::json::exception& error) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: JSON is broken at byte {} ('{}'): {}", root_.where_, offset,
                     token.substr(0, 40), error.what()));
  }

 private:
  // The place of the next value, its path filled in.
  JsonPart& place() {
    if (open_.empty()) {
      return root_;
    }
    JsonPart& parent = *open_.back();
    if (parent.type_ == Type::kObject) {
      JsonPart& part = parent.fields_.back().second;
      part.where_ = parent.where_ + "." + parent.fields_.back().first.substr(0, 40);
      return part;
    }
    JsonPart& part = parent.items_.emplace_back();
    part.where_ = fmt::format("{}.{}", parent.where_, parent.items_.size() - 1);
    return part;
  }

  template <class F>
  bool put(F fill) {
    fill(place());
    return true;
  }

  bool put_number(double value) {
    return put([&](JsonPart& part) {
      part.type_ = Type::kNumber;
      part.number_ = value;
    });
  }

  bool open(Type type) {
    JsonPart& part = place();
    part.type_ = type;
    open_.push_back(&part);
    if (open_.size() > kMostLevels) {
      root_.refuse(fmt::format("JSON has more than {} levels", kMostLevels));
    }
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  JsonPart& root_;
  std::vector<JsonPart*> open_;  // a parent does not grow while one of its children is open
};

JsonPart JsonPart::parse(std::string_view text, std::string where) {
  JsonPart root;
  root.where_ = std::move(where);
  Builder builder(root);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    root.refuse("JSON is broken");
  }
  return root;
}

void JsonPart::refuse(std::string_view what) const {
  fail(ErrorCode::kCorruptFile, fmt::format("{}: {}", where_, what));
}

void JsonPart::refuse_kind(std::string_view what) const {
  fail(ErrorCode::kUnsupported, fmt::format("{}: {}", where_, what));
}

void JsonPart::fail_type(std::string_view expected) const {
  refuse(fmt::format("found {}, expected {}", name_of(type_), expected));
}

const std::vector<JsonPart>& JsonPart::items() const {
  if (type_ != Type::kList) {
    fail_type("a list");
  }
  return items_;
}

const std::vector<std::pair<std::string, JsonPart>>& JsonPart::fields() const {
  if (type_ != Type::kObject) {
    fail_type("an object");
  }
  return fields_;
}

const std::string& JsonPart::text() const {
  if (type_ != Type::kText) {
    fail_type("a text");
  }
  return text_;
}

double JsonPart::number() const {
  if (type_ != Type::kNumber) {
    fail_type("a number");
  }
  return number_;
}

bool JsonPart::flag() const {
  if (type_ != Type::kBool) {
    fail_type("true or false");
  }
  return flag_;
}

const JsonPart* JsonPart::find(std::string_view key) const {
  for (const auto& [name, part] : fields()) {
    if (name == key) {
      return part.is_null() ? nullptr : &part;
    }
  }
  return nullptr;
}

const JsonPart& JsonPart::get(std::string_view key) const {
  const JsonPart* part = find(key);
  if (part == nullptr) {
    refuse(fmt::format("key '{}' is missing", key));
  }
  return *part;
}

std::optional<std::string> JsonPart::find_text(std::string_view key) const {
  const JsonPart* part = find(key);
  return part == nullptr ? std::nullopt : std::optional(part->text());
}

bool JsonPart::flag_or(std::string_view key, bool other) const {
  const JsonPart* part = find(key);
  return part == nullptr ? other : part->flag();
}

int64_t JsonPart::count(int64_t most) const {
  const double value = number();
  if (!(value >= 0) || value > static_cast<double>(most) || std::floor(value) != value) {
    refuse(fmt::format("found {}, expected a whole number from 0 to {}", value, most));
  }
  return static_cast<int64_t>(value);
}

}  // namespace fathom::codec
