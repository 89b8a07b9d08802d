// Typed keys of a model file: GGUF's own keys, or config.json flattened ("rope_scaling.factor").
// Called by model/arch (reads sizes), codec (reads the vocabulary), apps/inspect.
// Thread rule: const after loading, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fathom::weights {

// Where a file came from; arch files ask once and then use the key spelling of that source.
enum class Source { kGguf, kHuggingFace };

// What a key of a JSON file may hold in place of a value: keys below it, or numbered ones.
enum class Container { kObject, kList };

// JSON null is kept as std::monostate: "absent" for every find_ function.
using MetadataValue =
    std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, std::vector<bool>,
                 std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

class Metadata {
 public:
  Metadata(Source source, std::string path) : source_(source), path_(std::move(path)) {}

  [[nodiscard]] Source source() const { return source_; }

  // The file, for error messages.
  [[nodiscard]] const std::string& path() const { return path_; }

  // Inserts or replaces.
  void set(std::string key, MetadataValue value);

  // `key` is an object or a list whose own keys are set one by one ("rope_scaling.factor",
  // "layers.0"), also where there are none.
  void set_container(std::string key, Container kind);

  [[nodiscard]] std::optional<Container> find_container(std::string_view key) const;

  // Removes `key` and all keys below it ("rope_scaling", "rope_scaling.factor").
  void erase(std::string_view key);

  [[nodiscard]] bool contains(std::string_view key) const;

  // Value or nothing. Errors: kCorruptFile when the key is there with another type (an integer is
  // accepted where a double is asked; a double without fraction where an integer is), an object or
  // a list of other things included, and when a key above it ("rope_scaling" of
  // "rope_scaling.factor") is no object. The message names path, key, found and expected type.
  [[nodiscard]] std::optional<int64_t> find_int(std::string_view key) const;
  [[nodiscard]] std::optional<double> find_double(std::string_view key) const;
  [[nodiscard]] std::optional<bool> find_bool(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> find_string(std::string_view key) const;

  // Arrays stay valid while the Metadata lives; nullptr when absent. An array of bool or of any
  // integer type is delivered as int64 by find_ints; a JSON array of whole numbers also by
  // find_doubles (GGUF has typed arrays: no such widening there). An empty array is of any type.
  [[nodiscard]] const std::vector<std::string>* find_strings(std::string_view key) const;
  [[nodiscard]] const std::vector<int64_t>* find_ints(std::string_view key) const;
  [[nodiscard]] const std::vector<double>* find_doubles(std::string_view key) const;

  // The same, but a missing key is kCorruptFile ("path: key 'x' is missing; ...").
  [[nodiscard]] int64_t get_int(std::string_view key) const;
  [[nodiscard]] double get_double(std::string_view key) const;
  [[nodiscard]] std::string get_string(std::string_view key) const;

  // The names of all keys that are asked for from now on, whether they are there or not; valid
  // while the Metadata lives. Thread rule: nobody else may be reading.
  const std::set<std::string, std::less<>>& record_reads();
  void stop_recording();

  // All keys in order, for inspect.
  [[nodiscard]] const std::map<std::string, MetadataValue, std::less<>>& entries() const {
    return entries_;
  }

 private:
  // The value of `key`; nullptr when it is absent or null. `expected`, for the error.
  [[nodiscard]] const MetadataValue* find_value(std::string_view key,
                                                std::string_view expected) const;
  void check_above(std::string_view key) const;

  Source source_;
  std::string path_;
  std::map<std::string, MetadataValue, std::less<>> entries_;
  std::map<std::string, Container, std::less<>> containers_;
  mutable std::set<std::string, std::less<>> keys_read_;
  bool is_recording_ = false;
  // What find_ints gives for arrays of bools, and find_doubles for JSON arrays of whole numbers.
  std::map<std::string, std::vector<int64_t>, std::less<>> int_copies_;
  std::map<std::string, std::vector<double>, std::less<>> double_copies_;
};

// One line for people: arrays cut after a few entries.
std::string format_value(const MetadataValue& value);

}  // namespace fathom::weights
