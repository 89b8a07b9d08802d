// A chat template: parsed once, rendered many times; what it writes and where each byte came from.
// Called by api and apps. Read next: codec/jinja_runtime.h; docs/templates.md.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fathom::codec::jinja {

struct Program;

struct Limits {
  size_t max_source_bytes = size_t{16} << 20;
  size_t max_output_bytes = size_t{64} << 20;
  size_t max_steps = 20'000'000;  // evaluations, items and pieces of 16 bytes: about a second
  int max_calls = 190;            // macros and recursive loops within each other
};

// Where a piece of text came from.
struct Origin {
  enum class Kind {
    kTemplate,  // the template, or a variable that was set as trusted
    kMessage,   // "messages", item `message`
    kVariable,  // another variable, such as tools
  };
  Kind kind = Kind::kTemplate;
  int64_t message = -1;
  std::string path;  // "content", "tool_calls[0].function.name"; kVariable: "tools[1].name"
};

struct Span {
  size_t begin;     // byte of the text
  size_t length;    // bytes, at least 1
  uint32_t origin;  // index into Rendered::origins
};

struct Rendered {
  std::string text;                                  // valid UTF-8
  std::vector<Span> spans;                           // in order, without gaps: they cover the text
  std::vector<Origin> origins;                       // 0 is the template
  std::vector<std::pair<size_t, size_t>> generated;  // begin, end of generation blocks
};

// The variables of a render. A value belongs to the thread that uses it; a Variables object may be
// rendered many times, one after the other.
class Variables {
 public:
  // Whether text may hold control tokens (what the model's own files say) or is plain (what users
  // say).
  enum class From { kTemplate, kUser };

  Variables();
  Variables(Variables&&) noexcept;
  Variables& operator=(Variables&&) noexcept;
  ~Variables();

  // A variable from JSON text; keys keep their order, integers their digits. Setting a name again
  // replaces its value. Error: kInvalidArgument (not JSON, with the byte), kResourceExhausted.
  void set_json(std::string_view name, std::string_view json, From from);
  // A string; invalid UTF-8 becomes U+FFFD.
  void set_text(std::string_view name, std::string_view text, From from);
  void set_bool(std::string_view name, bool value);
  // Each member of a JSON object becomes a variable; those named bos_token, eos_token, unk_token,
  // pad_token are of the template, the others of the user. With `member`, the object is that member
  // of the text's.
  void set_all(std::string_view json_object, std::string_view member = {});

 private:
  friend class Template;
  struct Data;
  std::unique_ptr<Data> data_;
};

struct RenderOptions {
  std::optional<std::tm> now;  // for strftime_now: local time; else the clock. Weekday and day of
                               // the year are computed.
};

// Immutable: several threads may render at once.
class Template {
 public:
  // Errors: kInvalidArgument (what jinja2 refuses, with the line), kResourceExhausted (limits).
  static Template parse(std::string_view source, const Limits& limits = {});

  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  // Errors: kInvalidArgument (what jinja2 refuses while it renders; a refusal of the template
  // itself begins with the sentence given to raise_exception), kResourceExhausted (limits).
  [[nodiscard]] Rendered render(const Variables& variables,
                                const RenderOptions& options = {}) const;

  // Whether the template reads this variable anywhere.
  [[nodiscard]] bool reads(std::string_view variable) const;

 private:
  Template();
  std::unique_ptr<const Program> program_;
  Limits limits_;
};

}  // namespace fathom::codec::jinja
