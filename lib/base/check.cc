// Prints the failed invariant and aborts.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace fathom {

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "fathom: broken invariant: %s (%s:%d); please report this\n", condition,
               file, line);
  std::abort();
}

}  // namespace fathom
