// Whole numbers of any size, for the few that do not fit 64 bits: ids in tool arguments, 10 ** 20.
// Called by codec/jinja_number, codec/jinja_json. Read next: codec/jinja_number.h.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::codec::jinja {

// Sign and magnitude; zero is never negative. Division rounds down, as Python's does.
class BigInt {
 public:
  BigInt() = default;

  explicit BigInt(int64_t value);

  // The whole part of a finite number.
  static BigInt from_double(double value);

  // Digits of a base from 2 to 36, without sign, prefix or separators; nothing for other
  // characters.
  static std::optional<BigInt> parse(std::string_view digits, uint32_t base);

  [[nodiscard]] bool is_zero() const { return limbs_.empty(); }

  [[nodiscard]] bool is_negative() const { return negative_; }

  [[nodiscard]] size_t bits() const;
  // The value, where it fits.
  [[nodiscard]] std::optional<int64_t> as_int64() const;
  // Rounded to nearest even; infinity beyond the largest double.
  [[nodiscard]] double as_double() const;
  // Digits with sign; base 2, 8, 10 or 16.
  [[nodiscard]] std::string to_string(uint32_t base = 10) const;

  [[nodiscard]] BigInt negated() const;

  friend BigInt operator+(const BigInt& a, const BigInt& b);
  friend BigInt operator-(const BigInt& a, const BigInt& b);
  friend BigInt operator*(const BigInt& a, const BigInt& b);

  // Quotient rounded down and the remainder with the divisor's sign. `b` must not be zero.
  static void divide(const BigInt& a, const BigInt& b, BigInt& quotient, BigInt& remainder);

  friend bool operator==(const BigInt& a, const BigInt& b) = default;
  friend std::strong_ordering operator<=>(const BigInt& a, const BigInt& b);

 private:
  void trim();
  uint32_t divide_small(uint32_t divisor);

  bool negative_ = false;
  std::vector<uint32_t> limbs_;  // 32 bits each, lowest first, no zero at the end
};

}  // namespace fathom::codec::jinja
