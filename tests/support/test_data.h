// Where the tests' own files lie. A function in a source of its own: the path changes from clone to
// clone, and would otherwise make every test a new text for the compiler's cache.
// Called by tests. Read next: tests/DATA.md.
#pragma once

#include <string>
#include <string_view>

namespace fathom::test {

// test_data("lib/kernels/golden.txt"): the path of tests/lib/kernels/golden.txt.
std::string test_data(std::string_view path);

}  // namespace fathom::test
