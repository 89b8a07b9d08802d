# What a cross build is made of: the rooms whose bits a processor decides, and their libraries without
# a package of the other architecture: fmt and spdlog as headers, GoogleTest from its sources.
# Called by cmake/rooms.cmake. Read next: cmake/aarch64-linux-gnu.cmake.
set(FATHOM_CROSS_ROOMS base quant kernels)

# fathom_add_headers(TARGET FOLDER): /usr/include/FOLDER alone, since all of /usr/include would bring
# this machine's C library.
function(fathom_add_headers target folder)
  find_path(${folder}_path ${folder} PATHS /usr/include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  set(headers ${CMAKE_BINARY_DIR}/headers/${folder})
  file(MAKE_DIRECTORY ${headers})
  file(CREATE_LINK ${${folder}_path}/${folder} ${headers}/${folder} SYMBOLIC)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${headers})
endfunction()

fathom_add_headers(fmt::fmt fmt)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
fathom_add_headers(spdlog::spdlog spdlog)
target_compile_definitions(spdlog::spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(spdlog::spdlog INTERFACE fmt::fmt)

if(FATHOM_TESTS)
  set(INSTALL_GTEST OFF)
  add_subdirectory(/usr/src/googletest googletest EXCLUDE_FROM_ALL SYSTEM)
endif()
