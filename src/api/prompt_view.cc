// Aligns tokens with the text by what each stands for; looks for the usual mistakes.
// Called by apps (inspect --prompt).
#include "api/prompt_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "codec/normal_form.h"
#include "codec/utf8.h"

namespace fathom::api {

namespace {

using codec::TokenId;
using codec::TokenKind;
using codec::jinja::Origin;
using codec::jinja::Rendered;
using codec::jinja::Span;

bool is_control(const codec::Tokenizer& tokenizer, TokenId id) {
  return tokenizer.vocabulary().kinds[static_cast<size_t>(id)] == TokenKind::kControl;
}

// Characters of the text that one token may stand for in another normal form.
constexpr size_t kMaxChangedBytes = 64;

// Bytes of `text` that `bytes` stands for when normalization changed them; 0 for none.
size_t changed_bytes(std::string_view text, std::string_view bytes) {
  using codec::NormalForm;
  for (size_t n = 1; n <= std::min(text.size(), kMaxChangedBytes); ++n) {
    const bool is_border = n == text.size() || (static_cast<unsigned char>(text[n]) & 0xC0) != 0x80;
    if (!is_border) {
      continue;
    }
    const std::string_view part = text.substr(0, n);
    for (const NormalForm form : {NormalForm::kNfc, NormalForm::kNfkc}) {
      if (codec::to_normal_form(part, form) == bytes) {
        return n;
      }
    }
  }
  return 0;
}

// Bytes of `text` at its begin that a token stands for. A blank that the text lacks is the
// tokenizer's.
size_t matching_bytes(std::string_view text, std::string_view bytes) {
  if (text.starts_with(bytes)) {
    return bytes.size();
  }
  if (codec::is_valid_utf8(bytes)) {
    if (const size_t n = changed_bytes(text, bytes)) {
      return n;
    }
  }
  return bytes.starts_with(' ') && bytes.size() > 1 ? matching_bytes(text, bytes.substr(1)) : 0;
}

// Gives every token its place in `text`. Tokens that the text does not hold get an empty one.
void place_tokens(std::string_view text, bool added_bos, std::vector<PromptToken>& tokens) {
  size_t at = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    PromptToken& token = tokens[i];
    token.begin = at;
    at += added_bos && i == 0 ? 0 : matching_bytes(text.substr(at), token.bytes);
    token.end = at;
  }
}

// The origins of all bytes of a token, each named once.
std::string origin_of(const Rendered& rendered, const PromptToken& token) {
  std::string names;
  auto span = std::upper_bound(rendered.spans.begin(), rendered.spans.end(), token.begin,
                               [](size_t at, const Span& s) { return at < s.begin + s.length; });
  std::set<uint32_t> seen;
  for (; span != rendered.spans.end() && span->begin < token.end; ++span) {
    if (seen.insert(span->origin).second) {
      names += (names.empty() ? "" : " + ") + describe_origin(rendered.origins[span->origin]);
    }
  }
  return names;
}

void name_origins(bool added_bos, PromptView& view) {
  for (size_t i = 0; i < view.tokens.size(); ++i) {
    PromptToken& token = view.tokens[i];
    if (token.begin != token.end) {
      token.origin = origin_of(view.rendered, token);
    } else {
      token.origin = (added_bos && i == 0) || token.bytes == " " ? "tokenizer" : "?";
    }
  }
}

// Control tokens' text in what users, documents and tools say.
void warn_of_control_text(const codec::Tokenizer& tokenizer, PromptView& view) {
  for (const Span& span : view.rendered.spans) {
    if (codec::is_structure(view.rendered, span)) {
      continue;
    }
    const auto text = std::string_view(view.rendered.text).substr(span.begin, span.length);
    std::set<TokenId> found;
    for (const TokenId id : tokenizer.encode(text, {.parse_special = true})) {
      if (is_control(tokenizer, id) && found.insert(id).second) {
        view.warnings.push_back(fmt::format(
            "{} holds the text of the control token {} (id {}); it is encoded as plain text",
            describe_origin(view.rendered.origins[span.origin]), tokenizer.bytes_of(id, true), id));
      }
    }
  }
}

// Where the template writes it; what a message says is no BOS.
void warn_of_bos(const codec::Tokenizer& tokenizer, PromptView& view) {
  const auto& vocabulary = tokenizer.vocabulary();
  if (!vocabulary.bos || view.rendered.spans.empty()) {
    return;
  }
  const std::string bos = tokenizer.bytes_of(*vocabulary.bos, true);
  const auto first = std::string_view(view.rendered.text).substr(0, view.rendered.spans[0].length);
  if (bos.empty() || view.rendered.spans[0].origin != 0 || !first.starts_with(bos)) {
    return;
  }
  if (first.substr(bos.size()).starts_with(bos)) {
    view.warnings.push_back(
        fmt::format("the chat template writes {} twice at the begin; one is kept", bos));
  } else if (vocabulary.add_bos) {
    view.warnings.push_back(fmt::format(
        "both the chat template and the tokenizer write {} at the begin; one is kept", bos));
  }
}

// Bytes of each message in the prompt, roles aside: begin of the first, end of the last.
std::vector<std::pair<size_t, size_t>> message_ranges(const Rendered& rendered,
                                                      int64_t n_messages) {
  std::vector<std::pair<size_t, size_t>> ranges(static_cast<size_t>(n_messages),
                                                {rendered.text.size(), 0});
  for (const Span& span : rendered.spans) {
    const Origin& origin = rendered.origins[span.origin];
    if (origin.kind == Origin::Kind::kMessage && origin.message < n_messages &&
        origin.path != "role") {
      auto& [begin, end] = ranges[static_cast<size_t>(origin.message)];
      begin = std::min(begin, span.begin);
      end = std::max(end, span.begin + span.length);
    }
  }
  return ranges;
}

// Whether one of `ends` lies in the prompt's bytes [begin, end).
bool has_token_between(const std::vector<PromptToken>& tokens, const std::vector<TokenId>& ends,
                       size_t begin, size_t end) {
  auto token =
      std::lower_bound(tokens.begin(), tokens.end(), begin,
                       [](const PromptToken& entry, size_t at) { return entry.begin < at; });
  for (; token != tokens.end() && token->end <= end; ++token) {
    if (token->begin < token->end && std::find(ends.begin(), ends.end(), token->id) != ends.end()) {
      return true;
    }
  }
  return false;
}

// Every finished message of the assistant should end with a token that ends an answer: else the
// model was not taught to stop by what Fathom stops at.
void warn_of_missing_ends(const codec::Tokenizer& tokenizer,
                          const codec::Conversation& conversation, PromptView& view) {
  const std::vector<TokenId> ends = tokenizer.end_tokens();
  if (ends.empty()) {
    view.warnings.push_back("the model names no token that ends an answer");
    return;
  }
  const auto messages = nlohmann::json::parse(conversation.messages);
  const auto ranges = message_ranges(view.rendered, conversation.n_messages);
  size_t next = view.rendered.text.size();  // where the messages behind begin
  std::vector<size_t> missing;
  for (size_t i = messages.size(); i-- > 0;) {
    const auto [begin, end] = ranges[i];
    const bool is_open = conversation.continue_final_message && i + 1 == messages.size();
    if (messages[i].value("role", "") == "assistant" && !is_open && end != 0 &&
        !has_token_between(view.tokens, ends, end, next)) {
      missing.push_back(i);
    }
    next = std::min(next, begin);
  }
  if (!missing.empty()) {
    std::reverse(missing.begin(), missing.end());
    view.warnings.push_back(
        fmt::format("no end mark follows message{} {} of the assistant; the model would end its "
                    "answers with {}",
                    missing.size() == 1 ? "" : "s", fmt::join(missing, ", "),
                    tokenizer.bytes_of(ends.front(), true)));
  }
}

}  // namespace

std::string describe_origin(const Origin& origin) {
  switch (origin.kind) {
    case Origin::Kind::kMessage:
      return fmt::format("message {}{}{}", origin.message, origin.path.empty() ? "" : " ",
                         origin.path);
    case Origin::Kind::kVariable:
      return origin.path;
    case Origin::Kind::kTemplate:
      break;
  }
  return "template";
}

PromptView view_prompt(const codec::Tokenizer& tokenizer, const codec::ChatTemplate& chat,
                       const codec::Conversation& conversation) {
  PromptView view;
  view.template_name = chat.name_for(conversation);
  view.rendered = chat.render(conversation);
  const codec::EncodedPrompt prompt = codec::encode_rendered(tokenizer, view.rendered);
  for (const TokenId id : prompt.ids) {
    PromptToken& token = view.tokens.emplace_back();
    token.id = id;
    token.bytes = tokenizer.bytes_of(id, true);
    token.is_control = is_control(tokenizer, id);
  }
  place_tokens(view.rendered.text, prompt.added_bos, view.tokens);
  name_origins(prompt.added_bos, view);
  warn_of_control_text(tokenizer, view);
  warn_of_bos(tokenizer, view);
  warn_of_missing_ends(tokenizer, conversation, view);
  return view;
}

}  // namespace fathom::api
