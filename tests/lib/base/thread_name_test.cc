// Tests of base/thread_name: what the kernel then says, and only of this thread.
#include "base/thread_name.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

#include "base/threads.h"

namespace fathom {
namespace {

std::string own_name() {
  std::array<char, 32> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

TEST(ThreadName, IsWhatTheKernelSaysAndCutAtItsLimit) {
  const std::string before = own_name();
  std::string named;
  std::string cut;
  std::thread([&] {
    name_this_thread("fathom-test");
    named = own_name();
    name_this_thread("fathom-0123456789");
    cut = own_name();
  }).join();
  EXPECT_EQ(named, "fathom-test");
  EXPECT_EQ(cut, "fathom-01234567");
  EXPECT_EQ(own_name(), before);
}

TEST(ThreadName, WorkersOfAPoolAreNumberedAndTheCallerKeepsItsName) {
  const std::string before = own_name();
  ThreadPool pool(3);
  std::array<std::string, 3> names;
  std::array<bool, 3> seen{};
  while (!seen[1] || !seen[2]) {
    pool.run(8, [&](int64_t /*unit*/, int worker) {
      names[static_cast<size_t>(worker)] = own_name();
      seen[static_cast<size_t>(worker)] = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the others wake meanwhile
    });
  }
  EXPECT_EQ(names[1], "fathom-work-1");
  EXPECT_EQ(names[2], "fathom-work-2");
  EXPECT_EQ(own_name(), before);
}

}  // namespace
}  // namespace fathom
