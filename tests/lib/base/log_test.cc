// Tests of base/log: where lines go, what is dropped, what is kept.
#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace fathom {

namespace {

using testing::HasSubstr;
using testing::Not;

// Runs call() and gives what it wrote to stderr; stdout must stay empty.
template <class Call>
std::string stderr_of(Call call) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  call();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  return text;
}

TEST(Log, LinesCarryTheirLevel) {
  EXPECT_EQ(stderr_of([] { note("all well"); }), "fathom: all well\n");
  EXPECT_EQ(stderr_of([] { warn("take care"); }), "fathom: warning: take care\n");
  EXPECT_EQ(stderr_of([] { log_line(LogLevel::kError, "broken"); }), "fathom: error: broken\n");
  EXPECT_EQ(stderr_of([] { note("{} braces stay text"); }), "fathom: {} braces stay text\n");
}

TEST(Log, WritesTimesAndJson) {
  set_log_format(LogFormat::kTimed);
  EXPECT_THAT(
      stderr_of([] { warn("take care"); }),
      testing::MatchesRegex("....-..-..T..:..:......[+-]..:.. fathom: warning: take care\n"));
  EXPECT_THAT(stderr_of([] { log_record("three", "\"n\":3"); }), HasSubstr(" fathom: three\n"));
  set_log_format(LogFormat::kJson);
  EXPECT_THAT(stderr_of([] { warn("a \"b\"\n"); }),
              HasSubstr("\"level\":\"warning\",\"message\":\"a \\\"b\\\"\\u000a\"}\n"));
  EXPECT_THAT(stderr_of([] { log_record("three", "\"n\":3"); }),
              HasSubstr("\"level\":\"info\",\"n\":3}\n"));
  set_log_format(LogFormat::kPlain);
  EXPECT_EQ(stderr_of([] { note("all well"); }), "fathom: all well\n");
}

TEST(Log, LevelsBelowAreDropped) {
  EXPECT_EQ(stderr_of([] { log_line(LogLevel::kDebug, "detail"); }), "");
  set_log_level(LogLevel::kError);
  const std::string quiet = stderr_of([] {
    note("a note");
    warn("a quiet warning");
  });
  set_log_level(LogLevel::kDebug);
  const std::string loud = stderr_of([] { log_line(LogLevel::kDebug, "detail"); });
  set_log_level(LogLevel::kNote);
  EXPECT_EQ(quiet, "");
  EXPECT_THAT(loud, HasSubstr("detail"));
  EXPECT_THAT(logged_warnings(), testing::Contains("a quiet warning"));
}

TEST(Log, WarningsAreKeptAndBounded) {
  (void)stderr_of([] {
    for (int i = 0; i < 200; ++i) {
      warn("warning number " + std::to_string(i));
    }
  });
  EXPECT_EQ(logged_warnings().size(), 100U);
  EXPECT_THAT(logged_warnings(), Not(testing::Contains("warning number 199")));
}

}  // namespace

}  // namespace fathom
