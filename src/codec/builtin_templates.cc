// One text a format, as short as its structure allows.
// Called by codec/chat_template. Sources: the formats' own documentation by their publishers.
#include "codec/builtin_templates.h"

#include <algorithm>
#include <array>

namespace fathom::codec {

namespace {

struct BuiltinTemplate {
  std::string_view name;
  std::string_view source;
};

constexpr std::string_view kChatMl = R"({%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%})";

constexpr std::string_view kLlama3 = R"({{- bos_token -}}
{%- for message in messages -%}
<|start_header_id|>{{ message.role }}<|end_header_id|>

{{ message.content | trim }}<|eot_id|>
{%- endfor -%}
{%- if add_generation_prompt -%}
<|start_header_id|>assistant<|end_header_id|>

{% endif -%})";

// Formats without a turn of the system: its text opens the first turn of the user.
constexpr std::string_view kSplitSystem = R"({%- set system = '' -%}
{%- set turns = messages -%}
{%- if messages[0].role == 'system' -%}
{%- set system = messages[0].content + '\n\n' -%}
{%- set turns = messages[1:] -%}
{%- endif -%}
{%- if not turns -%}{{ raise_exception('A message of the user must follow the system message') }}{%- endif -%}
{%- for message in turns -%}
{%- if message.role != ('user', 'assistant')[loop.index0 % 2] -%}
{{ raise_exception('The roles user and assistant must take turns, beginning with user') }}
{%- endif -%}
{%- endfor -%})";

constexpr std::string_view kMistral = R"({{- bos_token -}}
{%- for message in turns -%}
{%- if message.role == 'user' -%}
[INST] {{ (system if loop.first else '') + message.content }} [/INST]
{%- else -%}
{{ message.content }}{{ eos_token }}
{%- endif -%}
{%- endfor -%})";

constexpr std::string_view kGemma = R"({{- bos_token -}}
{%- for message in turns -%}
<start_of_turn>{{ 'user' if message.role == 'user' else 'model' }}
{{ (system if loop.first else '') + message.content | trim }}<end_of_turn>
{% endfor -%}
{%- if add_generation_prompt -%}
<start_of_turn>model
{% endif -%})";

// Two texts as one, at compile time.
template <size_t N>
struct Joined {
  std::array<char, N> text{};

  constexpr Joined(std::string_view first, std::string_view second) {
    const auto end = std::copy(first.begin(), first.end(), text.begin());
    std::copy(second.begin(), second.end(), end);
  }

  [[nodiscard]] constexpr std::string_view view() const { return {text.data(), N}; }
};

constexpr Joined<kSplitSystem.size() + kMistral.size()> kMistralWhole(kSplitSystem, kMistral);
constexpr Joined<kSplitSystem.size() + kGemma.size()> kGemmaWhole(kSplitSystem, kGemma);

constexpr auto kTemplates = std::to_array<BuiltinTemplate>({
    {"chatml", kChatMl},
    {"llama3", kLlama3},
    {"mistral", kMistralWhole.view()},
    {"gemma", kGemmaWhole.view()},
});

}  // namespace

std::optional<std::string_view> find_builtin_template(std::string_view name) {
  const auto* found =
      std::find_if(kTemplates.begin(), kTemplates.end(),
                   [&](const BuiltinTemplate& entry) { return entry.name == name; });
  return found == kTemplates.end() ? std::nullopt : std::optional(found->source);
}

std::string builtin_template_names() {
  std::string names;
  for (const BuiltinTemplate& entry : kTemplates) {
    names += names.empty() ? "" : ", ";
    names += entry.name;
  }
  return names;
}

}  // namespace fathom::codec
