// Tests of base/error: every code has a name of its own; fail() carries code and text.
#include "base/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace fathom {

namespace {

TEST(Error, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  const int last = static_cast<int>(ErrorCode::kInternal);
  for (int i = 0; i <= last; ++i) {
    const std::string_view name = name_of(static_cast<ErrorCode>(i));
    EXPECT_NE(name, "unknown") << i;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(last) + 1);
}

TEST(Error, FailThrowsCodeAndMessage) {
  try {
    fail(ErrorCode::kOutOfMemory, "no room");
  } catch (const std::exception& error) {
    const auto* typed = dynamic_cast<const Error*>(&error);
    ASSERT_NE(typed, nullptr);
    EXPECT_EQ(typed->code(), ErrorCode::kOutOfMemory);
    EXPECT_STREQ(typed->what(), "no room");
  }
}

}  // namespace

}  // namespace fathom
