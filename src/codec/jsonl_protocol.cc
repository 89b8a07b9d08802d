// One request a line, one answer a line.
// Called by apps/tokenize --jsonl. Read next: codec/text_tokenizer.cc.
#include "codec/jsonl_protocol.h"

#include <fmt/format.h>

#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "codec/json_text.h"

namespace fathom::codec {

namespace {

using Json = nlohmann::json;

std::string parse_hex(const std::string& hex) {
  const auto digit = [&](char c) -> unsigned {
    if (c >= '0' && c <= '9') {
      return static_cast<unsigned>(c - '0');
    }
    if (c >= 'a' && c <= 'f') {
      return static_cast<unsigned>(c - 'a' + 10);
    }
    if (c >= 'A' && c <= 'F') {
      return static_cast<unsigned>(c - 'A' + 10);
    }
    fail(ErrorCode::kInvalidArgument, fmt::format("bytes_hex: '{}' is not a hexadecimal digit", c));
  };
  if (hex.size() % 2 != 0) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("bytes_hex: {} digits, expected an even number", hex.size()));
  }
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(16 * digit(hex[i]) + digit(hex[i + 1]));
  }
  return bytes;
}

// Error: kInvalidArgument for what is no list of whole numbers in the range of ids.
std::vector<TokenId> read_ids(const Json& list) {
  std::vector<TokenId> ids;
  if (!list.is_array()) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("ids: found {}, expected a list of token ids", list.type_name()));
  }
  for (const Json& id : list) {
    const bool fits = id.is_number_unsigned()
                          ? std::in_range<TokenId>(id.get<uint64_t>())
                          : id.is_number_integer() && std::in_range<TokenId>(id.get<int64_t>());
    if (!fits) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("ids[{}]: found {}, expected a token id", ids.size(), id.dump()));
    }
    ids.push_back(id.get<TokenId>());
  }
  return ids;
}

Json answer(const Tokenizer& tokenizer, const Json& request) {
  const std::string op = request.value("op", "encode");
  Json reply = Json::object();
  if (op == "encode") {
    const EncodeOptions options{.add_special = request.value("add_special", false),
                                .parse_special = request.value("parse_special", false)};
    const std::string text = request.contains("bytes_hex")
                                 ? parse_hex(request.at("bytes_hex").get<std::string>())
                                 : request.at("text").get<std::string>();
    reply["ids"] = tokenizer.encode(text, options);
  } else if (op == "decode") {
    reply["text"] = tokenizer.decode(read_ids(request.at("ids")), request.value("special", true));
  } else {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("op: found '{}', expected 'encode' or 'decode'", op));
  }
  return reply;
}

}  // namespace

int serve_jsonl(const Tokenizer& tokenizer, std::istream& in, std::ostream& out) {
  std::string line;
  while (std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    Json id;
    Json reply;
    try {
      require_shallow(line);
      const Json request = Json::parse(line);
      id = request.is_object() && request.contains("id") ? request.at("id") : Json();
      reply = answer(tokenizer, request);
    } catch (const Error& error) {
      reply = {{"error", error.what()}};
    } catch (const Json::exception& error) {
      reply = {{"error", reason_of(error)}};
    }
    reply["id"] = id;
    out << reply.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    if (!out.flush()) {
      return 1;
    }
  }
  return in.bad() ? 1 : 0;
}

}  // namespace fathom::codec
