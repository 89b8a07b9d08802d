// Hooks the observer for as long as somebody wants to see something.
#include "run_watch.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"

namespace fathom::app {

RunWatch::RunWatch(api::Session& session, bool trace, bool check_nan, int64_t n_prompt)
    : session_(&session),
      check_nan_(check_nan),
      n_prompt_(n_prompt),
      rows_at_start_(session.engine().n_rows_computed()),
      phase_(trace ? Phase::kPrefill : Phase::kDone) {
  hook();
}

RunWatch::~RunWatch() {
  session_->exec().set_observer(nullptr);
}

void RunWatch::hook() {
  const bool is_tracing = phase_ == Phase::kPrefill || phase_ == Phase::kDecode;
  session_->exec().set_observer(is_tracing || check_nan_ ? this : nullptr);
}

void RunWatch::on_tensor(const TensorEvent& event) {
  if (check_nan_) {
    nan_check_.on_tensor(event);
  }
  if (phase_ == Phase::kPrefill || phase_ == Phase::kDecode) {
    trace_.on_tensor(event);
  }
}

void RunWatch::on_step(int64_t n_rows) {
  switch (phase_) {
    case Phase::kPrefill:
      print_trace("prefill step: layer - tensor - shape - dtype");
      phase_ = Phase::kWaiting;
      break;
    case Phase::kDecode:
      print_trace("decode step: layer - tensor - shape - dtype");
      phase_ = Phase::kDone;
      break;
    case Phase::kWaiting:
    case Phase::kDone:
      break;
  }
  if (phase_ == Phase::kWaiting && n_rows - rows_at_start_ >= n_prompt_) {
    phase_ = Phase::kDecode;  // the whole prompt is computed: the next step is a decode step
  }
  hook();
}

void RunWatch::print_trace(const char* title) {
  std::fprintf(stderr, "%s\n", title);
  for (const std::string& line : trace_.lines()) {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  trace_.clear();
}

void RunWatch::require_finite() const {
  if (const auto& bad = nan_check_.first()) {
    const std::string place =
        bad->layer < 0 ? std::string("outside the layers") : fmt::format("layer {}", bad->layer);
    fail(ErrorCode::kInternal,
         fmt::format("the first bad value is {} in tensor '{}' of {}, row {}, column {}: look at "
                     "the weights that make it",
                     bad->value, bad->tensor, place, bad->row, bad->column));
  }
}

}  // namespace fathom::app
