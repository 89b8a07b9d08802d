# One object library per instruction set, each with its own flags; kernels/dispatch picks at run time.
set(FATHOM_FLAGS_avx2 -mavx2 -mfma -mf16c)
# GCC turns chains of vpaddw into trees and moves the products of a whole block in front of their sums, so that 98 of
# 229 instructions of the 4-bit product with many rows were moves to and from the stack: 70 cycles in place of 27.
set(FATHOM_ORDER_avx2 $<$<CXX_COMPILER_ID:GNU>:-fno-tree-reassoc$<SEMICOLON>-fno-tree-ter>)
set(FATHOM_FLAGS_avx512 -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl)
set(FATHOM_FLAGS_vnni ${FATHOM_FLAGS_avx512} -mavx512vnni)
set(FATHOM_FLAGS_amx ${FATHOM_FLAGS_vnni} -mamx-tile -mamx-int8 -mamx-bf16)
# GCC schedules for Arm before it has given out registers, and then spills twice as often.
set(FATHOM_FLAGS_arm $<$<CXX_COMPILER_ID:GNU>:-fno-schedule-insns>)
set(FATHOM_FLAGS_neon -march=armv8-a ${FATHOM_FLAGS_arm})
set(FATHOM_FLAGS_dotprod -march=armv8.2-a+dotprod ${FATHOM_FLAGS_arm})
set(FATHOM_FLAGS_i8mm -march=armv8.2-a+dotprod+i8mm ${FATHOM_FLAGS_arm})
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(FATHOM_PLATFORM_ISAS avx2 avx512 vnni amx)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  set(FATHOM_PLATFORM_ISAS neon dotprod i8mm)
endif()
set(FATHOM_ISAS "${FATHOM_PLATFORM_ISAS}" CACHE STRING "Instruction sets to build beside scalar")
# GCC 12's own AVX-512 headers trip -W(maybe-)uninitialized (GCC bug 105593), so both are off for them.
# Sanitized kernels are compiled with -O1, and checked for addresses only: the checks of undefined behaviour
# at every pointer, and shadow memory for locals that live in registers, made one file of templates take
# minutes. The scalar twins are checked in full.
# No kernel throws; -fno-exceptions keeps a weak reference to the C++ personality out of their objects.
function(fathom_add_isas room)
  set(level -O3)
  if(FATHOM_SANITIZE)
    set(level -O1 -fno-sanitize=undefined $<$<CXX_COMPILER_ID:GNU>:--param=asan-stack=0>)
  endif()
  foreach(isa IN LISTS FATHOM_ISAS)
    if(NOT isa IN_LIST FATHOM_PLATFORM_ISAS)
      message(FATAL_ERROR "FATHOM_ISAS: '${isa}' is not one of the sets of ${CMAKE_SYSTEM_PROCESSOR}: ${FATHOM_PLATFORM_ISAS}")
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/kernels/${isa}/*.cc)
    if(NOT sources)
      continue()
    endif()
    add_library(fathom_kernels_${isa} OBJECT ${sources})
    target_link_libraries(fathom_kernels_${isa} PRIVATE fathom_flags)
    target_include_directories(fathom_kernels_${isa} PRIVATE ${CMAKE_SOURCE_DIR}/lib)
    target_compile_options(fathom_kernels_${isa} PRIVATE ${FATHOM_FLAGS_${isa}} ${FATHOM_ORDER_${isa}}
                           ${level} -fno-exceptions -Wno-psabi -Wno-old-style-cast -Wno-cast-align
                           $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized$<SEMICOLON>-Wno-maybe-uninitialized>)
    target_link_libraries(${room} PRIVATE $<TARGET_OBJECTS:fathom_kernels_${isa}>)
    string(TOUPPER ${isa} upper)
    target_compile_definitions(${room} PRIVATE FATHOM_HAVE_${upper})
  endforeach()
endfunction()
