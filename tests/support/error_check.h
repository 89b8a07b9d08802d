// Expectations about fathom::Error: its code and what its message must name.
// Called by every test of bad input.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace fathom::test {

// Runs call() and expects an Error with `code` whose one-line message holds all of `parts`.
template <class Call>
void expect_error(Call call, ErrorCode code, std::initializer_list<std::string_view> parts) {
  try {
    call();
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(name_of(error.code()), name_of(code)) << message;
    for (const std::string_view part : parts) {
      EXPECT_THAT(message, testing::HasSubstr(std::string(part)));
    }
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

}  // namespace fathom::test
