// Queues and seats. Pages are promised, not reserved: a sequence takes them as its rows need them.
#include "engine/roster.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "engine/request_check.h"

namespace fathom::engine {

namespace {

bool is_over(double limit_s, Clock::time_point since, Clock::time_point now) {
  return limit_s > 0 && std::chrono::duration<double>(now - since).count() >= limit_s;
}

std::optional<FinishReason> reason_to_end(const Sequence& sequence, Clock::time_point now) {
  const Request& request = sequence.request();
  if (sequence.cancelled) {
    return FinishReason::kCancelled;
  }
  if (is_over(request.deadline_s, sequence.submitted, now)) {
    return FinishReason::kDeadline;
  }
  if (!sequence.was_admitted && is_over(request.queue_timeout_s, sequence.submitted, now)) {
    return FinishReason::kQueueTimeout;
  }
  return std::nullopt;
}

}  // namespace

Roster::Roster(PageKeeper& keeper, int64_t max_sequences, int64_t context)
    : keeper_(&keeper), max_sequences_(max_sequences), context_(context) {}

void Roster::add(std::unique_ptr<Sequence> sequence) {
  const auto place =
      std::upper_bound(waiting_.begin(), waiting_.end(), sequence->rank,
                       [](const Rank& rank, const auto& other) { return rank < other->rank; });
  waiting_.insert(place, std::move(sequence));
}

void Roster::cancel(RequestId id) {
  for (auto* queue : {&waiting_, &running_}) {
    for (auto& sequence : *queue) {
      sequence->cancelled = sequence->cancelled || sequence->id() == id;
    }
  }
}

std::vector<Roster::Ended> Roster::take_ended(Clock::time_point now) {
  std::vector<Ended> ended;
  for (auto* queue : {&waiting_, &running_}) {
    for (auto& sequence : *queue) {
      if (const auto reason = reason_to_end(*sequence, now)) {
        ended.emplace_back(std::move(sequence), *reason);
      }
    }
    std::erase(*queue, nullptr);
  }
  return ended;
}

Roster::Demand Roster::demand_of(const Sequence& sequence) const {
  const int64_t most = positions_needed(sequence.request(), context_);
  const int64_t soon = kv::pages_for(std::min(sequence.n_tokens() + 1, most));
  return {std::max<int64_t>(0, soon - sequence.pages().n_pages()),
          kv::pages_for(most) > std::max(soon, sequence.pages().n_pages()) ? 1 : 0};
}

int64_t Roster::n_followers(const Sequence& leader) const {
  if (!leader.has_followers) {
    return 0;
  }
  return std::ranges::count_if(
      waiting_, [&](const auto& sequence) { return sequence->leader == leader.id(); });
}

// Takes over what the cache has, and looks whether the rest is there beside what was promised to
// others. False: nothing is taken.
bool Roster::try_room(Sequence& sequence, int64_t n_promised) {
  keeper_->take_cached(sequence);
  // Alone it always fits: submission refused what is larger than the pool.
  const bool fits =
      running_.empty() || demand_of(sequence).now + n_promised <= keeper_->n_available();
  if (!fits) {
    keeper_->give_back(sequence);
    sequence.usage.cached_tokens = sequence.was_admitted ? sequence.usage.cached_tokens : 0;
  }
  return fits;
}

// The sequence has a seat, or will have one that is kept for it.
void Roster::start(Sequence& sequence, Clock::time_point now) {
  if (!sequence.was_admitted) {
    sequence.was_admitted = true;
    sequence.admitted = now;
    sequence.usage.queue_s = std::chrono::duration<double>(now - sequence.submitted).count();
  }
}

void Roster::admit(Clock::time_point now) {
  int64_t n_seats = max_sequences_;
  int64_t n_promised = 0;
  const auto count = [&](const Sequence& sequence) {
    const int64_t followers = n_followers(sequence);
    const Demand demand = demand_of(sequence);
    n_seats -= 1 + followers;
    n_promised += demand.now + demand.later + followers;
  };
  for (const auto& sequence : running_) {
    count(*sequence);
  }
  size_t next = 0;
  while (next < waiting_.size()) {
    Sequence& first = *waiting_[next];
    if (first.leader != 0) {
      ++next;
      continue;
    }
    const int64_t wanted = std::min(1 + n_followers(first), max_sequences_);
    if (wanted > n_seats || !try_room(first, n_promised)) {
      return;
    }
    start(first, now);
    first.is_running = true;
    for (const auto& sequence : waiting_) {
      if (sequence->leader == first.id()) {
        start(*sequence, now);
      }
    }
    running_.push_back(std::move(waiting_[next]));
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(next));
    count(first);
  }
}

void Roster::preempt(Sequence& sequence) {
  const auto place =
      std::ranges::find_if(running_, [&](const auto& entry) { return entry.get() == &sequence; });
  FATHOM_CHECK(place != running_.end());
  keeper_->keep(sequence);
  keeper_->give_back(sequence);
  sequence.is_running = false;
  ++sequence.usage.n_preemptions;
  std::unique_ptr<Sequence> moved = std::move(*place);
  running_.erase(place);
  add(std::move(moved));
}

Sequence& Roster::last_running() {
  FATHOM_CHECK(!running_.empty());
  return **std::ranges::max_element(running_,
                                    [](const auto& a, const auto& b) { return a->rank < b->rank; });
}

std::vector<Sequence*> Roster::fork(Sequence& leader, Clock::time_point now) {
  std::vector<Sequence*> forked;
  if (!leader.has_followers) {
    return forked;
  }
  leader.has_followers = false;
  for (auto& sequence : waiting_) {
    if (sequence->leader != leader.id()) {
      continue;
    }
    sequence->leader = 0;
    if (sequence->cancelled || std::ssize(running_) >= max_sequences_) {
      continue;
    }
    start(*sequence, now);
    sequence->is_running = true;
    sequence->pages().share_all(leader.pages());
    sequence->num_computed = leader.num_computed;
    sequence->prompt_logprobs = leader.prompt_logprobs;
    sequence->usage.cached_tokens = leader.usage.cached_tokens;
    sequence->usage.cache_end = leader.usage.cache_end;
    forked.push_back(sequence.get());
    running_.push_back(std::move(sequence));
  }
  std::erase(waiting_, nullptr);
  return forked;
}

void Roster::hand_over(Sequence& leader) {
  if (!leader.has_followers) {
    return;
  }
  leader.has_followers = false;
  Sequence* next = nullptr;
  for (auto& sequence : waiting_) {
    if (sequence->leader != leader.id()) {
      continue;
    }
    sequence->leader = next == nullptr ? 0 : next->id();
    if (next == nullptr) {
      next = sequence.get();
    } else {
      next->has_followers = true;
    }
  }
}

void Roster::remove_finished() {
  for (auto* queue : {&waiting_, &running_}) {
    std::erase_if(*queue, [](const auto& sequence) { return sequence->is_finished; });
  }
}

}  // namespace fathom::engine
