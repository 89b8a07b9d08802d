# What the server stands on: Asio and Beast as headers, OpenSSL, prometheus-cpp.
# Called by cmake/rooms.cmake. Asio is compiled once, in src/api/http/asio.cc, and declared elsewhere
# (BOOST_ASIO_SEPARATE_COMPILATION). Boost 1.74 does not know that clang 14 has coroutines.
find_package(Boost 1.74 REQUIRED)
find_package(OpenSSL REQUIRED)
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core)

add_library(fathom_network INTERFACE)
target_link_libraries(fathom_network INTERFACE Boost::headers OpenSSL::SSL OpenSSL::Crypto)
target_compile_definitions(fathom_network INTERFACE
  BOOST_ASIO_HAS_CO_AWAIT BOOST_ASIO_HAS_STD_COROUTINE BOOST_ASIO_NO_DEPRECATED
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION)
if(FATHOM_SANITIZE MATCHES "undefined")  # clang 14 cannot mark the parts of a coroutine as functions
  target_compile_options(fathom_network INTERFACE $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
endif()
if(FATHOM_SANITIZE MATCHES "thread")  # the sanitizer does not know fences; Asio's locks do without
  target_compile_definitions(fathom_network INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
