// Phases and their times.
#include "engine/stats.h"

namespace fathom::engine {

std::string_view name_of(StepPhase phase) {
  constexpr std::string_view kNames[] = {"idle", "schedule", "forward", "sample", "publish"};
  return kNames[static_cast<size_t>(phase)];
}

PhaseTimer::PhaseTimer(std::atomic<StepPhase>& phase, StepPhase value, double& seconds)
    : phase_(&phase), before_(phase.load()), seconds_(&seconds), start_(Clock::now()) {
  phase.store(value, std::memory_order_relaxed);
}

PhaseTimer::~PhaseTimer() {
  *seconds_ += std::chrono::duration<double>(Clock::now() - start_).count();
  phase_->store(before_, std::memory_order_relaxed);
}

}  // namespace fathom::engine
