// A thread that does one thing after the other, so that neither the step thread nor the transport's
// waits for text.
// Called by api/openai/handler. Read next: api/openai/answer.h.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace fathom::api::openai {

class Worker {
 public:
  Worker();

  // stop()
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Queues a job, which must not throw. Any thread. After stop() it is dropped.
  void post(std::function<void()> job);

  // Does what is queued, then ends the thread. Not from a job.
  void stop();

 private:
  void run();

  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace fathom::api::openai
