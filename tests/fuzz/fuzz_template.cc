// Any bytes as a chat template and, after a NUL byte, as the JSON object of its variables: parse,
// render with small limits, and check that the spans cover the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "codec/jinja_template.h"
#include "codec/utf8.h"

namespace {

namespace jinja = fathom::codec::jinja;

constexpr std::string_view kVariables =
    R"({"messages":[{"role":"user","content":"a \u00e9 <x>"},{"role":"assistant","content":null,)"
    R"("tool_calls":[{"function":{"name":"f","arguments":{"k":[1,2.5,true]}}}]}],)"
    R"("tools":[{"type":"function"}],"bos_token":"<s>","add_generation_prompt":true,"d":{"a":1},"s":"xy"})";

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check_spans(const jinja::Rendered& rendered) {
  size_t at = 0;
  for (const jinja::Span& span : rendered.spans) {
    require(span.begin == at && span.length > 0 && span.origin < rendered.origins.size());
    at += span.length;
  }
  require(at == rendered.text.size());
  require(fathom::codec::is_valid_utf8(rendered.text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t nul = input.find('\0');
  try {
    jinja::Variables variables;
    variables.set_all(nul == std::string_view::npos ? kVariables : input.substr(nul + 1));
    jinja::Limits limits;
    limits.max_steps = 50'000;
    limits.max_output_bytes = 1 << 20;
    jinja::RenderOptions options;
    options.now = std::tm{};
    const auto parsed = jinja::Template::parse(input.substr(0, nul), limits);
    check_spans(parsed.render(variables, options));
  } catch (const fathom::Error&) {
    return 0;  // a clear error is a right answer
  }
  return 0;
}
