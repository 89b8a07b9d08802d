// A folder for one test, removed with all it holds when the test ends.
// Called by tests that write files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::test {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  // The path of `name` inside.
  [[nodiscard]] std::string path_of(std::string_view name) const;

  // Writes a file inside and gives its path.
  std::string write(std::string_view name, std::string_view text) const;
  std::string write(std::string_view name, std::span<const std::byte> bytes) const;

  // Names of the files inside, sorted.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::string path_;
};

// The whole content of a file; empty when there is none.
std::string read_text(const std::string& path);

}  // namespace fathom::test
