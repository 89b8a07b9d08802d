// A chat template engine behind JSON lines, so that another program can compare its prompts.
// Called by apps/template --jsonl and tests/tools/template_driver. Read next:
// codec/jinja_template.h.
#pragma once

#include <iosfwd>
#include <string>

namespace fathom::codec {

// Answers one line:
//   {"id":0,"source":"{{ x }}","context":{"x":1},"now":"2025-07-04T09:08:07"} ->
//   {"id":0,"text":"1"}
// or {"id":0,"error":"why"}. `context` holds the variables that exist, `now` is the local time of
// strftime_now (default: the clock). With "spans":true the answer has "spans":[[first byte, bytes,
// "message 0 content"],...]; with "times":N the line is rendered N times more and the answer has
// the "microseconds" of CPU time of the fastest.
std::string answer_template_line(const std::string& line);

// Each line of `in` that is not blank. Returns the exit status: 0, or 1 when a stream failed.
int serve_template_jsonl(std::istream& in, std::ostream& out);

}  // namespace fathom::codec
