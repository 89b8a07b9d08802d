// Invariants of our own code: FATHOM_CHECK always, FATHOM_DCHECK in hot loops of checked builds.
// Called by every room. A failing check prints the place and aborts; user input never reaches one.
#pragma once

namespace fathom {

[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace fathom

#define FATHOM_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::fathom::check_failed(#condition, __FILE__, __LINE__))

#ifdef FATHOM_DCHECKS
#define FATHOM_DCHECK(condition) FATHOM_CHECK(condition)
#else
#define FATHOM_DCHECK(condition) static_cast<void>(0)
#endif
