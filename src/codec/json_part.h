// A small JSON value that knows where it stands, for the settings of tokenizer files.
// Called by codec/json_normalizers, codec/json_steps, codec/json_decoders, codec/json_template,
// codec/tokenizer_files. Read next: codec/tokenizer_json.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fathom::codec {

// All find_ and get_ functions: kCorruptFile for a wrong type, get_ also for a missing key; the
// message names file, path and both types. null counts as missing.
class JsonPart {
 public:
  enum class Type { kNull, kBool, kNumber, kText, kList, kObject };

  // `where`: file and path, for messages. Errors: kCorruptFile for broken JSON, lone surrogates, or
  // more than 64 levels.
  static JsonPart parse(std::string_view text, std::string where);

  [[nodiscard]] Type type() const { return type_; }

  [[nodiscard]] bool is_null() const { return type_ == Type::kNull; }

  [[nodiscard]] const std::string& where() const { return where_; }

  // Of a list; an error for anything else.
  [[nodiscard]] const std::vector<JsonPart>& items() const;

  // Of an object: keys in the order of the file.
  [[nodiscard]] const std::vector<std::pair<std::string, JsonPart>>& fields() const;

  // Of a text, number or bool; an error for anything else.
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] double number() const;
  [[nodiscard]] bool flag() const;

  // Of an object.
  [[nodiscard]] const JsonPart* find(std::string_view key) const;
  [[nodiscard]] const JsonPart& get(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> find_text(std::string_view key) const;

  [[nodiscard]] std::string get_text(std::string_view key) const { return get(key).text(); }

  [[nodiscard]] bool flag_or(std::string_view key, bool other) const;

  // A whole number from 0 to `most`.
  [[nodiscard]] int64_t count(int64_t most) const;

  // Throws kCorruptFile or kUnsupported: "<where>: <what>".
  [[noreturn]] void refuse(std::string_view what) const;
  [[noreturn]] void refuse_kind(std::string_view what) const;

 private:
  class Builder;

  [[noreturn]] void fail_type(std::string_view expected) const;

  Type type_ = Type::kNull;
  bool flag_ = false;
  double number_ = 0;
  std::string text_;
  std::vector<JsonPart> items_;
  std::vector<std::pair<std::string, JsonPart>> fields_;
  std::string where_;
};

}  // namespace fathom::codec
