// First come, first served within a key; keys do not see each other.
// Read next: api/http/connection.cc.
#include "api/http/key_gate.h"

#include <algorithm>

namespace fathom::api::http {

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
  if (max_queued_ > 0 && std::ssize(share.waiting) >= max_queued_) {
    return Entry::kFull;
  }
  share.waiting.emplace_back(ticket, std::move(start));
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
    return;
  }
  if (!share.waiting.empty()) {  // its place goes to the next
    const std::function<void()> start = std::move(share.waiting.front().second);
    share.waiting.pop_front();
    start();
    return;
  }
  if (--share.n_running == 0) {
    shares_.erase(found);
  }
}

}  // namespace fathom::api::http
