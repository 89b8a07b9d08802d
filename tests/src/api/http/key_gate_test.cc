// Turns within a key, and keys that do not wait for each other.
#include "api/http/key_gate.h"

#include <gtest/gtest.h>

#include <vector>

namespace fathom::api::http {
namespace {

using Entry = KeyGate::Entry;

TEST(KeyGate, GivesTurnsInOrder) {
  KeyGate gate(1, 2);
  std::vector<int> started;
  const auto start = [&](int i) { return [&started, i] { started.push_back(i); }; };
  EXPECT_EQ(gate.enter("a", 1, start(1)), Entry::kRun);
  EXPECT_EQ(gate.enter("a", 2, start(2)), Entry::kWait);
  EXPECT_EQ(gate.enter("a", 3, start(3)), Entry::kWait);
  EXPECT_TRUE(gate.is_full("a"));
  EXPECT_FALSE(gate.is_full("b"));
  EXPECT_EQ(gate.enter("a", 4, start(4)), Entry::kFull);
  EXPECT_EQ(gate.enter("b", 5, start(5)), Entry::kRun);
  gate.leave("a", 2);  // gives up waiting
  EXPECT_FALSE(gate.is_full("a"));
  EXPECT_TRUE(started.empty());
  gate.leave("a", 1);
  EXPECT_EQ(started, std::vector<int>({3}));
  EXPECT_EQ(gate.enter("a", 6, start(6)), Entry::kWait);
  gate.leave("a", 3);
  gate.leave("a", 6);
  EXPECT_EQ(started, std::vector<int>({3, 6}));
  EXPECT_EQ(gate.enter("a", 7, start(7)), Entry::kRun);
}

TEST(KeyGate, CountsNothingWithoutKeyOrLimit) {
  KeyGate gate(1, 1);
  EXPECT_EQ(gate.enter("", 1, {}), Entry::kRun);
  EXPECT_EQ(gate.enter("", 2, {}), Entry::kRun);
  EXPECT_FALSE(gate.is_full(""));
  gate.leave("", 1);
  KeyGate open(0, 0);
  EXPECT_EQ(open.enter("a", 1, {}), Entry::kRun);
  EXPECT_EQ(open.enter("a", 2, {}), Entry::kRun);
}

TEST(KeyGate, WaitsWithoutEndWhereNoLimitIsSet) {
  KeyGate gate(1, 0);
  EXPECT_EQ(gate.enter("a", 0, {}), Entry::kRun);
  for (uint64_t i = 1; i < 100; ++i) {
    EXPECT_EQ(gate.enter("a", i, {}), Entry::kWait);
    EXPECT_FALSE(gate.is_full("a"));
  }
}

TEST(KeyGate, CountsWhatWaitsOfAllKeys) {
  KeyGate gate(1, 0, 2);
  int n_started = 0;
  const auto start = [&] { ++n_started; };
  EXPECT_EQ(gate.enter("a", 1, start), Entry::kRun);
  EXPECT_EQ(gate.enter("b", 2, start), Entry::kRun);
  EXPECT_EQ(gate.enter("a", 3, start), Entry::kWait);
  EXPECT_EQ(gate.enter("b", 4, start), Entry::kWait);
  EXPECT_EQ(gate.enter("a", 5, start), Entry::kFull);
  EXPECT_TRUE(gate.is_full("b"));
  EXPECT_FALSE(gate.is_full("c"));
  EXPECT_EQ(gate.enter("c", 6, start), Entry::kRun);  // waits for nobody
  gate.leave("a", 3);                                 // gives up waiting
  EXPECT_FALSE(gate.is_full("b"));
  EXPECT_EQ(gate.enter("c", 7, start), Entry::kWait);
  gate.leave("b", 2);  // the fourth begins
  EXPECT_EQ(n_started, 1);
  EXPECT_EQ(gate.enter("a", 8, start), Entry::kWait);
  EXPECT_EQ(gate.enter("a", 9, start), Entry::kFull);
}

}  // namespace
}  // namespace fathom::api::http
