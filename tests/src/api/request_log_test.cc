// The two forms of a request's log line.
#include "api/request_log.h"

#include <gtest/gtest.h>

namespace fathom::api {
namespace {

TEST(RequestLog, WritesWhatIsKnown) {
  http::RequestRecord record{.id = "req \"1\"", .key = "alice", .route = "/v1/completions"};
  record.status = 200;
  record.is_stream = true;
  record.prompt_tokens = 5;
  record.generated_tokens = 3;
  record.queue_s = 0.001;
  record.first_token_s = 0.02;
  record.inter_token_s = 0.01;
  record.total_s = 0.05;
  record.finish_reason = "stop";
  EXPECT_EQ(request_text(record),
            "req \"1\" /v1/completions 200 stop key=alice in=5 cached=0 out=3 queue=0.001s "
            "ttft=0.020s per_token=0.010s total=0.050s");
  EXPECT_EQ(request_members(record),
            R"("message":"request","id":"req \"1\"","route":"/v1/completions","status":200,)"
            R"("stream":true,"finish_reason":"stop","key":"alice","prompt_tokens":5,)"
            R"("cached_tokens":0,"generated_tokens":3,"queue_s":0.001000,)"
            R"("first_token_s":0.020000,"inter_token_s":0.010000,"total_s":0.050000)");
}

TEST(RequestLog, LeavesOutWhatIsNot) {
  http::RequestRecord refused;
  refused.status = 401;
  EXPECT_EQ(request_text(refused), "- (refused) 401");
  EXPECT_EQ(request_members(refused),
            R"("message":"request","id":"","route":"","status":401,"stream":false,)"
            R"("prompt_tokens":0,"cached_tokens":0,"generated_tokens":0,"total_s":0.000000)");
}

}  // namespace
}  // namespace fathom::api
