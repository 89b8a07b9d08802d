// SHA-256 over parts that each have a tag and a length, so that no two lists of parts run together.
// Read next: api/session.cc.
#include "api/content_id.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/error.h"

namespace fathom::api {

namespace {

constexpr int64_t kSamples = 256;    // places of a file
constexpr size_t kSampleBytes = 64;  // at each
constexpr size_t kChunkBytes = 1 << 20;

class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    FATHOM_CHECK(context_ != nullptr);
    FATHOM_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void add_number(uint64_t value) {
    std::array<unsigned char, 8> bytes;
    for (unsigned char& byte : bytes) {
      byte = static_cast<unsigned char>(value);
      value >>= 8;
    }
    EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
  }

  void add_bytes(std::string_view text) {
    EVP_DigestUpdate(context_.get(), text.data(), text.size());
  }

  void add_text(std::string_view text) {
    add_number(text.size());
    add_bytes(text);
  }

  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
    unsigned int size = 0;
    FATHOM_CHECK(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) == 1);
    std::string text;
    for (unsigned int i = 0; i < size; ++i) {
      text += fmt::format("{:02x}", bytes[i]);
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

// A file that is read beside its mapping: what is read so stays out of the resident set, which the
// memory plan has promised.
class ReadFile {
 public:
  explicit ReadFile(std::string path)
      : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
    std::error_code error;
    size_ = static_cast<int64_t>(std::filesystem::file_size(path_, error));
    if (fd_ < 0 || error) {
      close();
      fail(ErrorCode::kNotFound, fmt::format("{}: cannot be read any more", path_));
    }
  }

  ~ReadFile() { close(); }

  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;

  [[nodiscard]] int64_t size() const { return size_; }

  // Up to `n` bytes from `offset`; fewer at the end of the file only.
  std::string_view read(int64_t offset, size_t n, std::vector<char>& buffer) const {
    buffer.resize(n);
    size_t got = 0;
    while (got < n) {
      const ssize_t some =
          ::pread(fd_, buffer.data() + got, n - got, offset + static_cast<int64_t>(got));
      if (some < 0) {
        fail(ErrorCode::kCorruptFile,
             fmt::format("{}: byte {} cannot be read", path_, offset + static_cast<int64_t>(got)));
      }
      if (some == 0) {
        break;
      }
      got += static_cast<size_t>(some);
    }
    return {buffer.data(), got};
  }

 private:
  void close() const {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }

  std::string path_;
  int fd_;
  int64_t size_ = 0;
};

void add_sampled(Digest& digest, const std::string& path) {
  const ReadFile file(path);
  digest.add_number(static_cast<uint64_t>(file.size()));
  std::vector<char> buffer;
  for (int64_t i = 0; i < kSamples; ++i) {
    digest.add_text(file.read(file.size() / kSamples * i, kSampleBytes, buffer));
  }
}

void add_whole(Digest& digest, const std::string& path) {
  const ReadFile file(path);
  digest.add_number(static_cast<uint64_t>(file.size()));
  std::vector<char> buffer;
  for (int64_t at = 0; at < file.size(); at += static_cast<int64_t>(kChunkBytes)) {
    digest.add_text(file.read(at, kChunkBytes, buffer));
  }
}

struct ValueAdder {
  Digest& digest;

  void operator()(std::monostate) const {}

  void operator()(double value) const { digest.add_number(std::bit_cast<uint64_t>(value)); }

  void operator()(const std::string& value) const { digest.add_text(value); }

  template <class T>
  requires std::is_integral_v<T>

  void operator()(T value) const { digest.add_number(static_cast<uint64_t>(value)); }

  template <class T>
  void operator()(const std::vector<T>& values) const {
    digest.add_number(values.size());
    for (const auto& value : values) {
      (*this)(static_cast<T>(value));
    }
  }
};

void add_metadata(Digest& digest, const weights::Metadata& metadata) {
  digest.add_number(metadata.entries().size());
  for (const auto& [key, value] : metadata.entries()) {
    digest.add_text(key);
    digest.add_number(value.index());
    std::visit(ValueAdder{digest}, value);
  }
}

void add_directory(Digest& digest, const weights::TensorStore& store) {
  digest.add_number(store.tensors().size());
  for (const auto& [name, tensor] : store.tensors()) {
    digest.add_text(name);
    digest.add_number(static_cast<uint64_t>(tensor.type));
    digest.add_number(tensor.shape.size());
    for (const int64_t size : tensor.shape) {
      digest.add_number(static_cast<uint64_t>(size));
    }
  }
}

}  // namespace

std::string model_content_id(const weights::ModelFile& file) {
  Digest digest;
  add_metadata(digest, file.metadata);
  add_directory(digest, file.tensors);
  digest.add_number(file.tensors.files().size());
  for (const auto& part : file.tensors.files()) {
    add_sampled(digest, part->path());
  }
  return digest.hex();
}

std::string text_content_id(std::string_view text) {
  Digest digest;
  digest.add_bytes(text);
  return digest.hex();
}

std::string adapter_content_id(std::span<const AppliedAdapter> adapters) {
  if (adapters.empty()) {
    return "";
  }
  Digest digest;
  for (const AppliedAdapter& applied : adapters) {
    digest.add_number(std::bit_cast<uint64_t>(applied.scale));
    digest.add_number(applied.is_merged ? 1 : 0);
    add_whole(digest, applied.folder + "/adapter_config.json");
    digest.add_number(applied.adapter->tensors.files().size());
    for (const auto& part : applied.adapter->tensors.files()) {
      add_whole(digest, part->path());
    }
  }
  return digest.hex();
}

}  // namespace fathom::api
