// Keys from files and lists, their names, and what is refused without ever being printed.
#include "api/http/key_ring.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/error.h"
#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom::api::http {
namespace {

TEST(KeyRing, FindsKeysByTheirText) {
  KeyRing ring;
  EXPECT_TRUE(ring.is_empty());
  ring.add("# people, and machines\nalice sk-1\n\n  bob   sk-2  \nsk-3,carol sk-4\r\n", "list");
  EXPECT_EQ(ring.size(), 4U);
  EXPECT_EQ(ring.find("sk-1"), "alice");
  EXPECT_EQ(ring.find("sk-2"), "bob");
  EXPECT_EQ(ring.find("sk-4"), "carol");
  EXPECT_EQ(ring.find("sk-"), "");
  EXPECT_EQ(ring.find(""), "");
  EXPECT_EQ(ring.find("alice"), "");
  EXPECT_EQ(ring.find("sk-1 "), "");
}

TEST(KeyRing, NamesAKeyByItsDigest) {
  KeyRing ring;
  ring.add("abc", "list");
  EXPECT_EQ(ring.find("abc"), "key-ba7816bf");  // FIPS 180-2, appendix B.1
}

TEST(KeyRing, RefusesWithoutPrintingKeys) {
  const auto refused = [](const std::string& text, const std::string& expected) {
    try {
      KeyRing ring;
      ring.add(text, "list");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
    }
  };
  refused("alice secret\nbob secret", "list, line 2: the API key 'bob' has the text");
  refused("alice secret1\nalice secret2", "has the name");
  refused("a\nb secret more", "list, line 2");
  refused("secret\x80", "letters beyond ASCII");
}

TEST(KeyRing, ReadsFiles) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/keys";
  std::ofstream(path) << "alice sk-1\n";
  KeyRing ring;
  ring.add_file(path);
  EXPECT_EQ(ring.find("sk-1"), "alice");
  std::ofstream(path) << "# nobody\n";
  EXPECT_THROW(KeyRing().add_file(path), Error);
  EXPECT_THROW(KeyRing().add_file(folder.path() + "/none"), Error);
  EXPECT_THROW(KeyRing().add_file(folder.path()), Error);
}

TEST(KeyRing, ReadsTheHeader) {
  EXPECT_EQ(bearer_key("Bearer sk-1"), "sk-1");
  EXPECT_EQ(bearer_key("bearer   sk-1 "), "sk-1");
  EXPECT_EQ(bearer_key("Basic sk-1"), "");
  EXPECT_EQ(bearer_key("Bearer"), "");
  EXPECT_EQ(bearer_key(""), "");
}

}  // namespace
}  // namespace fathom::api::http
