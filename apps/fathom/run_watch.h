// What --trace and --check-nan look at while a request runs.
// Called by run.cc. Read next: xray/shape_trace.h, xray/nan_check.h.
#pragma once

#include <cstdint>
#include <string>

#include "api/session.h"
#include "base/observer.h"
#include "xray/nan_check.h"
#include "xray/shape_trace.h"

namespace fathom::app {

// Observes the session's steps while it lives.
class RunWatch final : public Observer {
 public:
  RunWatch(api::Session& session, bool trace, bool check_nan, int64_t n_prompt);
  ~RunWatch() override;
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  void on_tensor(const TensorEvent& event) override;

  // After every step, with the rows that the engine computed so far: prints the trace of the first
  // prefill step and of the first decode step to stderr.
  void on_step(int64_t n_rows);

  // A NaN or infinity was seen: the request may end.
  [[nodiscard]] bool has_bad_value() const { return nan_check_.first().has_value(); }

  // Error: kInternal naming layer, tensor, row and column when a bad value was seen.
  void require_finite() const;

 private:
  enum class Phase { kPrefill, kWaiting, kDecode, kDone };

  void print_trace(const char* title);
  void hook();

  api::Session* session_;
  bool check_nan_;
  int64_t n_prompt_;
  int64_t rows_at_start_;
  Phase phase_;
  xray::ShapeTrace trace_;
  xray::NanCheck nan_check_;
};

}  // namespace fathom::app
