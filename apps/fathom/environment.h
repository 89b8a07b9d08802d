// Variables of the environment that look like settings and are none.
// Called by apps/fathom/main.cc. Read next: environment.cc.
#pragma once

#include <string>
#include <vector>

namespace fathom::app {

// What is wrong with a variable FATHOM_... that is neither one of `settings` nor one that Fathom's
// programs, builds and tests know; it names the nearest one. Empty: nothing. The first by name, so
// that the message does not depend on their order.
std::string environment_fault(const std::vector<std::string>& settings);

}  // namespace fathom::app
