// The code of Asio, its TLS streams and Beast, compiled once for all sources of this folder.
// Read next: cmake/network_libraries.cmake, api/http/connection.h.
#include <utility>
//
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
