#include "support/test_data.h"

namespace fathom::test {

std::string test_data(std::string_view path) {
  return std::string(FATHOM_TEST_DATA "/") + std::string(path);
}

}  // namespace fathom::test
