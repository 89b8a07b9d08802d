# Compiler flags that every target shares. No -ffast-math and no -march=native anywhere: a float
# means the same on every machine (docs/numbers.md).
add_library(fathom_flags INTERFACE)
target_compile_options(fathom_flags INTERFACE
  -ffp-contract=off -fno-math-errno -fvisibility=hidden
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wcast-align
  $<$<BOOL:${FATHOM_WERROR}>:-Werror>
  "$<$<BOOL:${FATHOM_COVERAGE}>:--coverage;-fprofile-update=atomic>")
target_link_options(fathom_flags INTERFACE
  "$<$<BOOL:${FATHOM_COVERAGE}>:--coverage>")
target_compile_definitions(fathom_flags INTERFACE $<$<BOOL:${FATHOM_DCHECKS}>:FATHOM_DCHECKS>)
if(FATHOM_SANITIZE)  # no generator expression: the value may hold a comma
  target_compile_options(fathom_flags INTERFACE -fsanitize=${FATHOM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(fathom_flags INTERFACE -fsanitize=${FATHOM_SANITIZE})
endif()
find_program(FATHOM_MOLD mold)
if(FATHOM_MOLD AND NOT CMAKE_CROSSCOMPILING)
  target_link_options(fathom_flags INTERFACE -fuse-ld=mold)
endif()
