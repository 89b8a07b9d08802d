// A counter-based generator: (seed, choice, position) to random bits, with no state to carry along.
// Called by sample/sampler. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
// (SC11), Philox4x32-10 with the constants of the Random123 library.
#pragma once

#include <array>
#include <cstdint>

namespace fathom::sample {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

// Ten rounds of Philox4x32: 128 random bits of `counter` under `key`.
constexpr PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53;
  constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9;
  constexpr uint32_t kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

// A number in [0, 1), a multiple of 2^-53: the draw of the token at `position` of choice `choice`
// of a request with `seed`.
constexpr double uniform(uint64_t seed, uint32_t choice, int64_t position) {
  const auto place = static_cast<uint64_t>(position);
  const PhiloxCounter bits =
      philox4x32({static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32), choice, 0},
                 {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t high = bits[0] >> 5;  // 27 bits
  const uint64_t low = bits[1] >> 6;   // 26 bits
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

}  // namespace fathom::sample
