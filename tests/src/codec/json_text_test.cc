// Depth, members as they are written, reasons.
// Called by ctest. Read next: src/codec/json_text.h.
#include "codec/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/error_check.h"

namespace fathom::codec {
namespace {

using Members = std::vector<std::pair<std::string, std::string_view>>;

TEST(JsonTextTest, MembersAreSlicesOfTheText) {
  EXPECT_EQ(members_of("{}"), Members{});
  EXPECT_EQ(
      members_of(R"( { "a" : 1e3 , "b":[1, {"c": "}]"}],"d":"x\"y" , "e":null} )"),
      (Members{{"a", "1e3"}, {"b", R"([1, {"c": "}]"}])"}, {"d", R"("x\"y")"}, {"e", "null"}}));
  EXPECT_EQ(members_of(R"({"a\u0041":{},"a":[]})"), (Members{{"aA", "{}"}, {"a", "[]"}}));
}

TEST(JsonTextTest, DepthIsCountedOutsideOfStrings) {
  const auto nested = [](int n) {
    return std::string(static_cast<size_t>(n), '[') + std::string(static_cast<size_t>(n), ']');
  };
  EXPECT_EQ(find_too_deep(nested(kMaxJsonLevels)), std::string_view::npos);
  EXPECT_EQ(find_too_deep(nested(kMaxJsonLevels + 1)), static_cast<size_t>(kMaxJsonLevels));
  EXPECT_EQ(find_too_deep("\"" + nested(1000) + "\\\"" + nested(1000) + "\""),
            std::string_view::npos);
  test::expect_error([&] { require_shallow(nested(300)); }, ErrorCode::kInvalidArgument,
                     {"byte 200", "200 levels"});
}

TEST(JsonTextTest, ReasonsAreWithoutTheLibrarysMarks) {
  std::string reason;
  try {
    const nlohmann::json parsed = nlohmann::json::parse("{");
    reason = parsed.dump();
  } catch (const nlohmann::json::exception& error) {
    reason = reason_of(error);
  }
  EXPECT_EQ(reason.find('['), std::string::npos) << reason;
  EXPECT_NE(reason.find("unexpected end of input"), std::string::npos) << reason;
}

}  // namespace
}  // namespace fathom::codec
