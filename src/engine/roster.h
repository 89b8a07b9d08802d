// The sequences that wait and those that run: who is admitted when, who goes back to wait.
//
//   submit ─▶ waiting ── admit() ──▶ running ──▶ finished
//                ▲                      │
//                └───── preempt() ◀─────┘   its pages go to others, it is computed again later
//
// Called by engine/engine. Read next: engine/scheduler.h (Rank). Thread rule: the step thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/page_keeper.h"
#include "engine/sequence.h"

namespace fathom::engine {

class Roster {
 public:
  using Queue = std::vector<std::unique_ptr<Sequence>>;
  using Ended = std::pair<std::unique_ptr<Sequence>, FinishReason>;

  // `context`: positions of one sequence. `keeper` must outlive the roster.
  Roster(PageKeeper& keeper, int64_t max_sequences, int64_t context);

  // To wait, behind all that come before it by rank.
  void add(std::unique_ptr<Sequence> sequence);

  // Marks a sequence; take_ended() gives it. Unknown ids are ignored.
  void cancel(RequestId id);

  // Takes out what was cancelled and whose time is over.
  std::vector<Ended> take_ended(Clock::time_point now);

  // Lets the first of those waiting run, as long as there are seats, and pages for all their tokens
  // and one more for each running sequence that will need more. Nobody overtakes the first; so
  // whoever waits is served when those before it have ended. A sequence that follows a leader comes
  // with it: seats are kept for it.
  void admit(Clock::time_point now);

  // Takes a running sequence's pages away and lets it wait again, where its rank puts it.
  void preempt(Sequence& sequence);

  // The running sequence that comes last by rank: the first to be pre-empted.
  [[nodiscard]] Sequence& last_running();

  // Lets those that follow `leader`, whose prompt is computed, run from there with its pages, as
  // many as there are seats; the others become sequences of their own.
  std::vector<Sequence*> fork(Sequence& leader, Clock::time_point now);

  // Where a leader ends before its prompt is computed: the first of its followers leads now.
  void hand_over(Sequence& leader);

  void remove_finished();

  [[nodiscard]] const Queue& running() const { return running_; }

  [[nodiscard]] const Queue& waiting() const { return waiting_; }

  [[nodiscard]] bool is_empty() const { return running_.empty() && waiting_.empty(); }

 private:
  struct Demand {
    int64_t now = 0;    // pages for the tokens there are and the next one
    int64_t later = 0;  // 1 where it may need more after that
  };

  [[nodiscard]] Demand demand_of(const Sequence& sequence) const;
  [[nodiscard]] int64_t n_followers(const Sequence& leader) const;
  [[nodiscard]] bool try_room(Sequence& sequence, int64_t n_promised);
  void start(Sequence& sequence, Clock::time_point now);

  PageKeeper* keeper_;
  int64_t max_sequences_;
  int64_t context_;
  Queue waiting_;  // by rank
  Queue running_;  // in order of admission
};

}  // namespace fathom::engine
