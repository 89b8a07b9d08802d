// What the engine has done so far, in numbers, and what it is doing now.
// Called by engine/engine, api (metrics, watchdog). Read next: engine/engine.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "engine/request.h"
#include "kv/prefix_cache.h"

namespace fathom::engine {

// Numbers for metrics, all since the start unless they say "now".
struct EngineStats {
  int64_t n_waiting = 0;       // now, pre-empted ones among them
  int64_t n_running = 0;       // now
  int64_t n_pages = 0;         // in all
  int64_t n_pages_free = 0;    // now, holding nothing
  int64_t n_pages_cached = 0;  // now, held by the prefix cache alone: free when they are needed
  int64_t n_pages_used = 0;    // now, held by sequences
  int64_t n_steps = 0;         // with at least one row
  int64_t n_rows = 0;          // computed, prompts and generated tokens together
  int64_t n_prompt_rows = 0;   // of them
  int64_t n_preemptions = 0;
  int64_t n_context_shifts = 0;
  kv::PrefixStats prefix;  // zeros where the cache is off
  double schedule_s = 0;   // choosing, pages, filling the batch
  double forward_s = 0;    // the model
  double sample_s = 0;     // tokens from logits
  double publish_s = 0;    // the sinks
};

// What a step is doing, for whoever watches over it from another thread.
enum class StepPhase : uint8_t { kIdle, kSchedule, kForward, kSample, kPublish };

// "idle", "schedule", "forward", "sample", "publish"
std::string_view name_of(StepPhase phase);

// Adds the time of a phase to its counter and says which one it is; phases may be nested.
class PhaseTimer {
 public:
  PhaseTimer(std::atomic<StepPhase>& phase, StepPhase value, double& seconds);
  ~PhaseTimer();
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  std::atomic<StepPhase>* phase_;
  StepPhase before_;
  double* seconds_;
  Clock::time_point start_;
};

}  // namespace fathom::engine
