// A tokenizer behind JSON lines, so that another program can compare its ids.
// Called by apps/tokenize --jsonl. Read next: codec/tokenizer.h.
#pragma once

#include <iosfwd>

#include "codec/tokenizer.h"

namespace fathom::codec {

// Answers each line of `in` with one line on `out`:
//   {"id":0,"op":"encode","text":"...","add_special":true,"parse_special":false} ->
//   {"id":0,"ids":[1,2]}
//   {"id":1,"op":"encode","bytes_hex":"c328"}                                   -> the same
//   {"id":2,"op":"decode","ids":[1,2]}                                          ->
//   {"id":2,"text":"..."}
// A line that cannot be answered gives {"id":..,"error":"..."} and the next one is read. Returns
// the exit status: 0, or 1 when a stream failed.
int serve_jsonl(const Tokenizer& tokenizer, std::istream& in, std::ostream& out);

}  // namespace fathom::codec
