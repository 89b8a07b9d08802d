// How many requests of one API key run at once and how many wait for their turn.
// Called by api/http/connection, on the transport's thread. Read next: key_gate.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace fathom::api::http {

class KeyGate {
 public:
  enum class Entry {
    kRun,   // the caller starts it now
    kWait,  // `start` will be called
    kFull,  // neither runs nor waits
  };

  // Of one key; `max_waiting` is of all keys together. 0: no limit. Requests without a key are not
  // counted.
  KeyGate(int64_t max_running, int64_t max_queued, int64_t max_waiting = 0)
      : max_running_(max_running), max_queued_(max_queued), max_waiting_(max_waiting) {}

  // `ticket` names the request in leave().
  Entry enter(const std::string& key, uint64_t ticket, std::function<void()> start);

  // A request of this key would be kFull.
  [[nodiscard]] bool is_full(const std::string& key) const;

  // The request has ended, or is no longer wanted; the next of its key starts. Once for each
  // request that was let in.
  void leave(const std::string& key, uint64_t ticket);

 private:
  struct Share {
    int64_t n_running = 0;
    std::deque<std::pair<uint64_t, std::function<void()>>> waiting;
  };

  int64_t max_running_;
  int64_t max_queued_;
  int64_t max_waiting_;
  int64_t n_waiting_ = 0;                // of all keys
  std::map<std::string, Share> shares_;  // keys with requests
};

}  // namespace fathom::api::http
