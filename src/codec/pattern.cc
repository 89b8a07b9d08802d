// PCRE2 with its just-in-time compiler behind a walk over matches.
// Called by codec/split_stage, codec/normalizer, codec/pre_tokenizer. Read next:
// codec/pattern_syntax.cc.
#include "codec/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "codec/utf8.h"

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the way to tell pcre2.h the width
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace fathom::codec {

namespace {

constexpr size_t kJitStackStart = size_t{32} * 1024;
constexpr size_t kJitStackLimit = size_t{16} * 1024 * 1024;
constexpr uint32_t kMostForeignSteps = 20'000'000;
constexpr size_t kLongestRegex = size_t{64} * 1024;

struct FreePcre2 {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }

  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }

  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }

  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

}  // namespace

struct Pattern::Code {
  std::unique_ptr<pcre2_code, FreePcre2> compiled;
};

Pattern::Pattern(std::string_view regex, PatternOptions options)
    : regex_(regex), is_foreign_(options.is_foreign), code_(std::make_unique<Code>()) {
  if (regex.size() > kLongestRegex) {
    fail(ErrorCode::kUnsupported, fmt::format("regular expression of {} bytes; expected at most {}",
                                              regex.size(), kLongestRegex));
  }
  const std::string text = translate_regex(regex, options.is_foreign);
  const std::basic_string<PCRE2_UCHAR> pattern(text.begin(), text.end());
  uint32_t flags = options.by_bytes ? 0u : PCRE2_UTF | PCRE2_UCP;
  flags |= options.is_foreign ? PCRE2_MULTILINE : PCRE2_DOLLAR_ENDONLY;
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->compiled.reset(
      pcre2_compile(pattern.data(), pattern.size(), flags, &error, &offset, nullptr));
  if (code_->compiled == nullptr) {
    fail(ErrorCode::kUnsupported,
         fmt::format(
             "{}{}regular expression '{}' is not understood (PCRE2 error {} at byte {} of '{}')",
             options.where, options.where.empty() ? "" : ": ", regex, error, offset, text));
  }
  // Without a just-in-time compiler for this machine the interpreter does the same, slower.
  pcre2_jit_compile(code_->compiled.get(), PCRE2_JIT_COMPLETE);
}

Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

Pattern Pattern::of_text(std::string_view text) {
  std::string regex;
  for (const char c : text) {
    const bool is_sign =
        static_cast<unsigned char>(c) < 0x80 && c > ' ' &&
        std::string_view(R"(\.+*?()|[]{}^$#&-~)").find(c) != std::string_view::npos;
    regex += is_sign ? "\\" : "";
    regex += c;
  }
  return Pattern(regex);
}

struct Pattern::Walk::Scratch {
  std::unique_ptr<pcre2_match_data, FreePcre2> data{pcre2_match_data_create(1, nullptr)};
  std::unique_ptr<pcre2_match_context, FreePcre2> context{pcre2_match_context_create(nullptr)};
  std::unique_ptr<pcre2_jit_stack, FreePcre2> stack;  // made when the machine's own is too small
};

Pattern::Walk::Walk(const Pattern& pattern, std::string_view text)
    : pattern_(&pattern), text_(text), scratch_(std::make_unique<Scratch>()) {
  const uint32_t limit = pattern.is_foreign_ ? kMostForeignSteps : UINT32_MAX;
  pcre2_set_match_limit(scratch_->context.get(), limit);
  pcre2_set_heap_limit(scratch_->context.get(), pattern.is_foreign_ ? 65536 : UINT32_MAX);
  pcre2_set_depth_limit(scratch_->context.get(), limit);
}

Pattern::Walk::~Walk() = default;

std::optional<TextRange> Pattern::Walk::next() {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
  while (at_ <= text_.size()) {
    const auto match = [&](uint32_t options) {
      return pcre2_match(pattern_->code_->compiled.get(), subject, text_.size(), at_,
                         PCRE2_NO_UTF_CHECK | options, scratch_->data.get(),
                         scratch_->context.get());
    };
    int found = match(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT && scratch_->stack == nullptr) {
      scratch_->stack.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr));
      pcre2_jit_stack_assign(scratch_->context.get(), nullptr, scratch_->stack.get());
      found = match(0);
    }
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = match(PCRE2_NO_JIT);
    }
    if (found == PCRE2_ERROR_NOMATCH) {
      at_ = text_.size() + 1;
      return std::nullopt;
    }
    if (found < 0) {
      fail(ErrorCode::kResourceExhausted,
           fmt::format("regular expression '{}': PCRE2 error {} at byte {} of a text of {} bytes",
                       pattern_->regex_, found, at_, text_.size()));
    }
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(scratch_->data.get());
    const TextRange range{bounds[0], bounds[1]};
    if (range.begin >= range.end && last_end_ == range.end) {
      at_ += at_ < text_.size() ? read_utf8(text_, at_).size : 1;
      continue;
    }
    at_ = range.end;
    last_end_ = range.end;
    return TextRange{range.begin, std::max(range.begin, range.end)};
  }
  return std::nullopt;
}

}  // namespace fathom::codec
