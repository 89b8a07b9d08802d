# Toolchain: Arm programs for Linux, built by Debian's cross compiler and run by QEMU's user mode.
# Called by preset arm. Packages: g++-aarch64-linux-gnu, qemu-user, googletest. The CPU is QEMU's
# richest; environment QEMU_CPU has no say, FATHOM_ARM_CPU at configuration has (cortex-a72: neon,
# neoverse-n1: dotprod, max: i8mm).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)  # GoogleTest asks for one
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_AR aarch64-linux-gnu-ar)
set(CMAKE_RANLIB aarch64-linux-gnu-ranlib)
set(CMAKE_NM aarch64-linux-gnu-nm)
set(FATHOM_ARM_CPU max CACHE STRING "The CPU that qemu-aarch64 shows to the tests")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu;-cpu;${FATHOM_ARM_CPU})
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
