// First come, first served within a key; keys do not see each other.
// Read next: api/http/connection.cc.
#include "api/http/key_gate.h"

#include <algorithm>

namespace fathom::api::http {

bool KeyGate::is_full(const std::string& key) const {
  if (key.empty() || max_running_ == 0) {
    return false;
  }
  const auto found = shares_.find(key);
  if (found == shares_.end() || found->second.n_running < max_running_) {
    return false;
  }
  return (max_queued_ > 0 && std::ssize(found->second.waiting) >= max_queued_) ||
         (max_waiting_ > 0 && n_waiting_ >= max_waiting_);
}

KeyGate::Entry KeyGate::enter(const std::string& key, uint64_t ticket,
                              std::function<void()> start) {
  if (key.empty() || max_running_ == 0) {
    return Entry::kRun;
  }
  Share& share = shares_[key];
  if (share.n_running < max_running_) {
    ++share.n_running;
    return Entry::kRun;
  }
  if (is_full(key)) {
    return Entry::kFull;
  }
  share.waiting.emplace_back(ticket, std::move(start));
  ++n_waiting_;
  return Entry::kWait;
}

void KeyGate::leave(const std::string& key, uint64_t ticket) {
  const auto found = shares_.find(key);
  if (found == shares_.end()) {
    return;
  }
  Share& share = found->second;
  const auto waiting = std::find_if(share.waiting.begin(), share.waiting.end(),
                                    [&](const auto& entry) { return entry.first == ticket; });
  if (waiting != share.waiting.end()) {
    share.waiting.erase(waiting);
    --n_waiting_;
    return;
  }
  if (!share.waiting.empty()) {  // its place goes to the next
    const std::function<void()> start = std::move(share.waiting.front().second);
    share.waiting.pop_front();
    --n_waiting_;
    start();
    return;
  }
  if (--share.n_running == 0) {
    shares_.erase(found);
  }
}

}  // namespace fathom::api::http
