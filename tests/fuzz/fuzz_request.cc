// Any bytes as the body of a request, to the route that the first byte chooses: parsed with every
// check, or refused with a field and a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/openai/errors.h"
#include "api/openai/request.h"

namespace {

namespace openai = fathom::api::openai;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void parse(std::string_view body, uint8_t choice) {
  constexpr openai::Route kRoutes[] = {openai::kChat, openai::kCompletions, openai::kTokenize,
                                       openai::kDetokenize, openai::kTemplate};
  const openai::Route route = kRoutes[choice % std::size(kRoutes)];
  if (route != openai::kChat && route != openai::kCompletions) {
    const openai::Body parsed = openai::Body::parse(body, route);
    if (route != openai::kDetokenize && parsed.has("messages")) {
      openai::read_conversation(body, parsed);
    }
    return;
  }
  const openai::AnswerRequest request = openai::parse_answer_request(body, route, {});
  require(request.n_choices >= 1 && request.n_choices <= 128);
  require(request.sampling.temperature >= 0 && request.sampling.top_p > 0);
  require(request.is_chat ? request.conversation->n_messages > 0 : !request.prompts.empty());
  for (const std::string& stop : request.stops) {
    require(!stop.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    parse(input.substr(1), data[0]);
  } catch (const openai::RequestError& error) {
    require(error.what()[0] != '\0');  // a clear error is a right answer
  }
  return 0;
}
