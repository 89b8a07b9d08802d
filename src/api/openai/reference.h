// The tables of docs/serving.md, made from the tables in code.
// Called by tools/serving_doc.py through tests/src/api/openai/reference_test.cc. Read next:
// api/openai/fields.cc, api/openai/errors.cc.
#pragma once

#include <string>

namespace fathom::api::openai {

// Markdown: fields that are used, ignored, refused; causes of errors.
std::string reference_tables();

}  // namespace fathom::api::openai
