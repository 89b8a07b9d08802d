// Causes and OpenAI's error objects. Read next: api/openai/errors.h.
#include "api/openai/errors.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fathom::api::openai {
namespace {

TEST(ErrorsTest, EveryCauseHasItsRow) {
  for (const CauseRow& row : causes()) {
    EXPECT_EQ(&row_of(row.cause), &row);
    EXPECT_GE(row.status, 400);
  }
  EXPECT_EQ(row_of(Cause::kDeadline).status, 504);
  EXPECT_EQ(row_of(Cause::kQueueTimeout).status, 503);
  EXPECT_EQ(row_of(Cause::kQueueFull).status, 429);
  EXPECT_EQ(row_of(Cause::kInternal).status, 500);
}

TEST(ErrorsTest, BodiesAreOpenAis) {
  const auto error =
      nlohmann::json::parse(error_body(Cause::kBadRequest, "what \xff \"is\" wrong", "top_p"))
          .at("error");
  EXPECT_EQ(error.at("message"), "what \xEF\xBF\xBD \"is\" wrong");
  EXPECT_EQ(error.at("type"), "invalid_request_error");
  EXPECT_EQ(error.at("param"), "top_p");
  EXPECT_EQ(error.at("code"), "invalid_value");
  EXPECT_TRUE(nlohmann::json::parse(error_body(Cause::kInternal, "m"))["error"]["param"].is_null());
}

TEST(ErrorsTest, WhereTryingAgainHelpsTheAnswerSaysWhen) {
  EXPECT_EQ(error_response(Cause::kQueueFull, "m").headers.front().first, "Retry-After");
  EXPECT_EQ(error_response(Cause::kQueueTimeout, "m").headers.size(), 1U);
  EXPECT_TRUE(error_response(Cause::kBadRequest, "m").headers.empty());
  EXPECT_EQ(error_response(Cause::kUnknownModel, "m").status, 404);
}

TEST(ErrorsTest, CodesOfTheRoomsBelowHaveTheirCause) {
  EXPECT_EQ(cause_of(Error(ErrorCode::kInvalidArgument, "")), Cause::kBadRequest);
  EXPECT_EQ(cause_of(Error(ErrorCode::kResourceExhausted, "")), Cause::kTooLong);
  EXPECT_EQ(cause_of(Error(ErrorCode::kUnsupported, "")), Cause::kNotOffered);
  EXPECT_EQ(cause_of(Error(ErrorCode::kCorruptFile, "")), Cause::kInternal);
  EXPECT_EQ(cause_of(RequestError(Cause::kQueueFull, "")), Cause::kQueueFull);
  EXPECT_EQ(cause_of(engine::FinishReason::kDeadline), Cause::kDeadline);
  EXPECT_EQ(cause_of(engine::FinishReason::kQueueTimeout), Cause::kQueueTimeout);
  EXPECT_EQ(cause_of(engine::FinishReason::kCancelled), Cause::kStopping);
  EXPECT_EQ(cause_of(engine::FinishReason::kError), Cause::kInternal);
}

}  // namespace
}  // namespace fathom::api::openai
