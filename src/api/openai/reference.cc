// Rows of the two tables as Markdown.
// Called by tests/src/api/openai/reference_test.cc, which compares docs/serving.md.
#include "api/openai/reference.h"

#include <fmt/format.h>

#include <string_view>

#include "api/openai/errors.h"
#include "api/openai/fields.h"

namespace fathom::api::openai {

namespace {

// "chat, completions"
std::string routes_text(uint8_t routes) {
  struct Name {
    Route route;
    std::string_view text;
  };

  constexpr Name kNames[] = {{kChat, "chat"},
                             {kCompletions, "completions"},
                             {kTokenize, "tokenize"},
                             {kDetokenize, "detokenize"},
                             {kTemplate, "apply-template"}};
  std::string text;
  for (const Name& name : kNames) {
    if ((routes & name.route) != 0) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", name.text);
    }
  }
  return text;
}

// What stands in a cell must not end it.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '|' ? std::string("\\|") : std::string(1, c);
  }
  return out;
}

void append_used(std::string& out) {
  out += "| field | routes | takes | without it, or null | what it does |\n|---|---|---|---|---|\n";
  for (const Field& field : fields()) {
    if (field.use == FieldUse::kUsed) {
      out += fmt::format("| `{}` | {} | {} | {} | {} |\n", field.name, routes_text(field.routes),
                         cell(describe_type(field)),
                         field.otherwise.empty() ? "refused" : cell(field.otherwise),
                         cell(field.says));
    }
  }
}

void append_others(FieldUse use, std::string_view head, std::string& out) {
  out += fmt::format("| field | routes | {} |\n|---|---|---|\n", head);
  for (const Field& field : fields()) {
    if (field.use == use) {
      const std::string only =
          use == FieldUse::kOnly ? fmt::format("only `{}`: ", field.otherwise) : std::string();
      out += fmt::format("| `{}` | {} | {}{} |\n", field.name, routes_text(field.routes), only,
                         cell(field.says));
    }
  }
}

void append_causes(std::string& out) {
  out +=
      "| status | `type` | `code` | finish reason in log and metrics | when |\n"
      "|---|---|---|---|---|\n";
  for (const CauseRow& row : causes()) {
    out += fmt::format("| {} | `{}` | `{}` | {} | {} |\n", row.status, row.type, row.code,
                       row.finish_reason.empty() ? "" : fmt::format("`{}`", row.finish_reason),
                       cell(row.says));
  }
}

}  // namespace

std::string reference_tables() {
  std::string out = "### Fields that are used\n\n";
  append_used(out);
  out +=
      "\n### Fields that are ignored\n\n"
      "They cannot change the answer; the header `Fathom-Ignored` names those that a request "
      "had.\n\n";
  append_others(FieldUse::kIgnored, "why", out);
  out += "\n### Fields with one value\n\n";
  append_others(FieldUse::kOnly, "what is allowed, and why", out);
  out += "\n### Fields that are refused\n\nWith status 400, by name.\n\n";
  append_others(FieldUse::kRefused, "why", out);
  out += "\n### Errors\n\n";
  append_causes(out);
  return out;
}

}  // namespace fathom::api::openai
