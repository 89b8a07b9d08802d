// Named memory pools: each is reserved once with a planned size, hands out 64-byte aligned pieces,
// and remembers how much of it was used. Nothing in the step loop allocates elsewhere.
// Called by model (weights, scratch), kv (pages), engine. Thread rule: one thread allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fathom {

class ThreadPool;

// One contiguous region, page aligned, with huge-page advice; zero-filled by the kernel.
class MemoryPool {
 public:
  // Reserves `capacity_bytes` of address space. Error: kOutOfMemory.
  MemoryPool(std::string name, size_t capacity_bytes);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // A piece of `n_bytes`, aligned to 64 bytes, zero on first use, valid until reset() or the end.
  // Error: kOutOfMemory when the planned size would be passed (that is a fault of the plan).
  std::span<std::byte> allocate(size_t n_bytes);

  // A piece for `count` objects of T (trivial types only).
  template <class T>
  std::span<T> allocate_array(size_t count) {
    const auto piece = allocate(count * sizeof(T));
    return {reinterpret_cast<T*>(piece.data()), count};
  }

  // Makes the whole capacity resident now, by all threads, so that the process has at start the
  // size that the plan states and no step waits for the kernel. Error: kOutOfMemory.
  void populate(ThreadPool& threads);

  // Hands all pieces back; the bytes keep their content.
  void reset() { used_ = 0; }

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] size_t capacity_bytes() const { return region_.size(); }

  [[nodiscard]] size_t used_bytes() const { return used_; }

  [[nodiscard]] size_t peak_bytes() const { return peak_; }

  // What allocate() adds for a piece of `n_bytes`: the plan uses the same rule.
  static size_t padded_bytes(size_t n_bytes) { return (n_bytes + 63) / 64 * 64; }

 private:
  std::string name_;
  std::span<std::byte> mapping_;  // with the slack that aligns region_ to a huge page
  std::span<std::byte> region_;
  size_t used_ = 0;
  size_t peak_ = 0;
};

}  // namespace fathom
