// Certificate and key for connections with TLS.
// Called by api/server. Read next: tls.cc, api/http/stream.h.
#pragma once

#include <string>

#include "api/http/stream.h"

namespace fathom::api::http {

// TLS 1.2 and 1.3 with the chain and the key of two PEM files. Errors: kNotFound, kCorruptFile
// naming the file.
TlsContext open_tls(const std::string& certificate_path, const std::string& key_path);

}  // namespace fathom::api::http
