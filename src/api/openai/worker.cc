// A queue and a thread.
// Called by api/openai/handler. Read next: api/openai/answer.cc.
#include "api/openai/worker.h"

#include <utility>

#include "base/thread_name.h"

namespace fathom::api::openai {

Worker::Worker()
    : thread_([this] {
        name_this_thread("fathom-read");
        run();
      }) {}

Worker::~Worker() {
  stop();
}

void Worker::post(std::function<void()> job) {
  bool was_idle = false;
  {
    const std::lock_guard guard(lock_);
    if (stops_) {
      return;
    }
    was_idle = jobs_.empty();
    jobs_.push_back(std::move(job));
  }
  if (was_idle) {  // else the thread is awake, or about to be
    wake_.notify_one();
  }
}

void Worker::stop() {
  {
    const std::lock_guard guard(lock_);
    stops_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Worker::run() {
  while (true) {
    std::function<void()> job;
    {
      std::unique_lock guard(lock_);
      wake_.wait(guard, [this] { return stops_ || !jobs_.empty(); });
      if (jobs_.empty()) {
        return;
      }
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace fathom::api::openai
