// docs/serving.md is what the tables in code say. Read next: api/openai/reference.h.
#include "api/openai/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "api/openai/fields.h"
#include "support/test_data.h"

namespace fathom::api::openai {
namespace {

TEST(ReferenceTest, EveryFieldAndCauseHasARow) {
  const std::string tables = reference_tables();
  for (const Field& field : fields()) {
    EXPECT_THAT(tables, testing::HasSubstr("| `" + std::string(field.name) + "` |"));
  }
  EXPECT_THAT(tables, testing::HasSubstr("| 429 | `rate_limit_error` | `queue_full` |"));
}

std::string read(const char* path) {
  std::ifstream file(test::test_data(path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ReferenceTest, SomeTestSendsEveryFieldThatIsUsed) {
  const std::string tests =
      read("src/api/openai/handler_test.cc") + read("src/api/openai/default_model_test.cc");
  for (const Field& field : fields()) {
    const std::string name(field.name);
    EXPECT_TRUE(field.use != FieldUse::kUsed ||
                tests.find("\"" + name + "\"") != std::string::npos ||
                tests.find("\"" + name + "\\\"") != std::string::npos)
        << name;
  }
}

TEST(ReferenceTest, TheDocumentIsCurrent) {
  if (const char* out = std::getenv("FATHOM_REFERENCE_OUT")) {  // of tools/serving_doc.py
    std::ofstream(out) << reference_tables();
    return;
  }
  const std::string document = read("../docs/serving.md");
  const std::string begin = "<!-- begin reference -->\n\n";
  const size_t from = document.find(begin);
  const size_t to = document.find("\n<!-- end reference -->");
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  EXPECT_EQ(document.substr(from + begin.size(), to - from - begin.size()), reference_tables())
      << "run tools/serving_doc.py";
}

}  // namespace
}  // namespace fathom::api::openai
