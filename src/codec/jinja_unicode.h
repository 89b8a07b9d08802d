// What Python's str knows about characters: space, word, case, digits, printable.
// Called by codec/jinja_lexer, codec/jinja_str_methods, codec/jinja_print. Read next: the Unicode
// Standard, sections 3.13 and 4.
#pragma once

#include <string>
#include <string_view>

namespace fathom::codec::jinja {

bool is_space(char32_t c);       // str.isspace, and \s of Python's re
bool is_line_break(char32_t c);  // where str.splitlines cuts
bool is_word(char32_t c);        // \w of Python's re
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);
bool is_printable(char32_t c);  // repr writes it as it is
bool is_identifier_start(char32_t c);

// Full case mapping, one character to up to three. `text` is valid UTF-8.
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_title_char(char32_t c);
std::string casefold(std::string_view text);
std::string swap_case(std::string_view text);
std::string capitalize(std::string_view text);
std::string to_title(std::string_view text);  // str.title: words are runs of cased characters

// str.isupper and str.islower: some cased character, and none of the other case.
bool has_only_case(std::string_view text, bool upper);

// Byte ranges without white space at the ends.
size_t skip_space(std::string_view text, size_t begin, size_t end);
size_t skip_space_back(std::string_view text, size_t begin, size_t end);

}  // namespace fathom::codec::jinja
