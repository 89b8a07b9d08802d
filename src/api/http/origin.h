// The origin of a page, as browsers write it in the header Origin.
// Called by apps/fathom/serve_flags. Read next: api/http/front.h.
#pragma once

#include <string>
#include <string_view>

namespace fathom::api::http {

// What keeps `text` from being equal to any origin that a browser sends; empty: nothing does. "*"
// stands for all of them.
std::string origin_fault(std::string_view text);

}  // namespace fathom::api::http
