// One log line for each request that has ended, as text or JSON; never a word of its text.
// Called by api/server. Read next: api/http/exchange.h, base/log.h.
#pragma once

#include <string>

#include "api/http/exchange.h"

namespace fathom::api {

// "req-1 /v1/completions 200 stop key=alice in=5 cached=0 out=3 queue=0.001s ttft=0.020s
// per_token=0.010s total=0.050s"; what is not known is left out.
std::string request_text(const http::RequestRecord& request);

// The same as members of a JSON object.
std::string request_members(const http::RequestRecord& request);

}  // namespace fathom::api
