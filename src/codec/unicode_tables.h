// The tables behind codec/unicode: runs of characters of one kind.
// Called by codec/unicode. Read next: tools/make_unicode_tables.py, which writes the tables.
#pragma once

#include <cstdint>
#include <span>

namespace fathom::codec {

// Entries of both: (first code point << 8) | kind, ascending; each holds up to the next.
std::span<const uint32_t> category_runs();
std::span<const uint32_t> bert_kind_runs();

}  // namespace fathom::codec
