// The default model for tests that need a real one. Suites that use it have DefaultModel in their
// name: the tests' label follows from that.
// Called by tests of api and apps. Read next: scripts/fetch-model.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace fathom::test {

// The path that scripts/fetch-model gives, whether the file is there or not.
inline std::string default_model_path() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string folder = cache != nullptr && *cache != '\0'
                                 ? std::string(cache)
                                 : std::string(home == nullptr ? "" : home) + "/.cache";
  return folder + "/fathom/models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

// Skips its tests when the model is not there; with CI=true they fail instead.
class DefaultModelFixture : public testing::Test {
 protected:
  void SetUp() override {
    model_ = default_model_path();
    if (::access(model_.c_str(), R_OK) == 0) {
      return;
    }
    const char* ci = std::getenv("CI");
    if (ci != nullptr && std::string(ci) == "true") {
      FAIL() << model_ << " is not there; run scripts/fetch-model";
    }
    GTEST_SKIP() << model_ << " is not there; run scripts/fetch-model";
  }

  [[nodiscard]] const std::string& model() const { return model_; }

 private:
  std::string model_;
};

}  // namespace fathom::test
