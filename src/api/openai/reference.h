// The tables of docs/serving.md, made from the tables in code.
// Called by apps/fathom (serve --print-reference). Read next: api/openai/fields.cc,
// api/openai/errors.cc.
#pragma once

#include <string>

namespace fathom::api::openai {

// Markdown: fields that are used, ignored, refused; causes of errors.
std::string reference_tables();

}  // namespace fathom::api::openai
