# Writes commit.cc with the commit of the sources; run at every build, as a configured value would go stale.
# Called by apps/fathom/CMakeLists.txt with SOURCE_DIR and OUT.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
# An equal file is left alone: nothing is compiled again until the commit changes.
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
// The commit of the sources; written by cmake/commit.cmake.
#include "command.h"

namespace fathom::app {

const char* commit() {
  return "@commit@";
}

}  // namespace fathom::app
]])
