// A sequence of its own beside the engine: pages, chunks, forward passes.
// Read next: engine/batch.cc, which does the same for many sequences.
#include "api/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "kv/page_table.h"

namespace fathom::api {

namespace {

void check_ids(const Session& session, std::span<const int32_t> ids) {
  if (ids.empty()) {
    fail(ErrorCode::kInvalidArgument, "there are no token ids; give at least one");
  }
  const int64_t n_vocab = session.load_plan().config.n_vocab;
  for (const int32_t id : ids) {
    if (id < 0 || id >= n_vocab) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("token id {} is outside the vocabulary; allowed: 0 to {}", id, n_vocab - 1));
    }
  }
  if (std::ssize(ids) > session.context()) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("the prompt has {} tokens, the context {}; {}", ids.size(), session.context(),
                     session.load_plan().config.allows_more_than(session.context())
                         ? "give a larger -c"
                         : "shorten it: the model has learned no more positions"));
  }
}

}  // namespace

void score(Session& session, std::span<const int32_t> ids,
           const std::function<void(int64_t, const ops::Rows&)>& on_rows, int64_t first_wanted) {
  FATHOM_CHECK(session.score_rows().data != nullptr);
  check_ids(session, ids);
  const auto n_tokens = std::ssize(ids);
  kv::PageTable table(session.pages(), {.type = session.pages().shape().type});
  table.reserve(n_tokens);
  std::vector<int64_t> positions(ids.size());
  std::iota(positions.begin(), positions.end(), 0);
  const size_t n_fast = session.fast_prompts() ? ids.size() : 0;
  const auto fast_rows = std::make_unique<bool[]>(n_fast);
  std::fill_n(fast_rows.get(), n_fast, true);
  const int64_t chunk = std::min(session.score_rows().n_rows, session.model().limits().max_tokens);
  for (int64_t first = 0; first < n_tokens; first += chunk) {
    const int64_t n_rows = std::min(chunk, n_tokens - first);
    const auto begin = static_cast<size_t>(first);
    const auto count = static_cast<size_t>(n_rows);
    const ops::SequenceRows rows{.first_row = 0,
                                 .n_rows = n_rows,
                                 .first_position = first,
                                 .pages = table.pages(),
                                 .rope_length = n_tokens};
    const int64_t n_unwanted = std::clamp<int64_t>(first_wanted - first, 0, n_rows);
    ops::Rows logits = session.score_rows();
    logits.n_rows = n_rows - n_unwanted;
    session.model().forward({.token_ids = ids.subspan(begin, count),
                             .positions = std::span<const int64_t>(positions).subspan(begin, count),
                             .sequences = {&rows, 1},
                             .logit_rows = std::span<const int64_t>(positions).first(count).subspan(
                                 static_cast<size_t>(n_unwanted)),
                             .fast_rows = {fast_rows.get(), n_fast > 0 ? count : 0}},
                            logits);
    if (const auto fault = session.exec().take_fault()) {
      fail(ErrorCode::kInternal,
           fmt::format("a NaN or infinity in '{}' of layer {}, position {}: the file's values or "
                       "the config's numbers are broken; --check-tensors looks at the file's "
                       "values, `fathom run --check-nan` shows the first one",
                       fault->name, fault->layer, first + fault->row));
    }
    if (logits.n_rows > 0) {
      on_rows(first + n_unwanted, logits);
    }
  }
}

}  // namespace fathom::api
