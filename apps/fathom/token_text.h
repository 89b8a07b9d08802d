// Tokens for people's eyes: control characters and parts of characters spelled out, colours.
// Called by tokenize.cc, inspect_prompt.cc, template.cc. Read next: terminal.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fathom::app {

// One line: \n, \t and \r as such, other control characters and bytes that are no UTF-8 as \xHH;
// a backslash stays as it is.
std::string one_line(std::string_view bytes);

// As one_line, but a line end is followed by a real one, for text that keeps its lines.
std::string marked_lines(std::string_view bytes);

// `text` on one of a few backgrounds, by `index`, so that neighbours differ.
std::string on_colour(std::string_view text, size_t index);

// Whether stdout is a terminal and colours are wanted (NO_COLOR is not set).
bool stdout_has_colours();

}  // namespace fathom::app
