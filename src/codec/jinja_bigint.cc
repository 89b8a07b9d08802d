// Schoolbook arithmetic on 32-bit limbs: the numbers of templates have tens of digits, not
// thousands.
#include "codec/jinja_bigint.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fathom::codec::jinja {

namespace {

using Limbs = std::vector<uint32_t>;

void trim_limbs(Limbs& limbs) {
  while (!limbs.empty() && limbs.back() == 0) {
    limbs.pop_back();
  }
}

int compare_limbs(const Limbs& a, const Limbs& b) {
  if (a.size() != b.size()) {
    return a.size() < b.size() ? -1 : 1;
  }
  for (size_t i = a.size(); i-- > 0;) {
    if (a[i] != b[i]) {
      return a[i] < b[i] ? -1 : 1;
    }
  }
  return 0;
}

Limbs add_limbs(const Limbs& a, const Limbs& b) {
  Limbs sum;
  sum.reserve(std::max(a.size(), b.size()) + 1);
  uint64_t carry = 0;
  for (size_t i = 0; i < std::max(a.size(), b.size()) || carry != 0; ++i) {
    carry += (i < a.size() ? a[i] : 0ull) + (i < b.size() ? b[i] : 0ull);
    sum.push_back(static_cast<uint32_t>(carry));
    carry >>= 32;
  }
  return sum;
}

// a - b for a >= b.
Limbs subtract_limbs(const Limbs& a, const Limbs& b) {
  Limbs difference = a;
  int64_t borrow = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t digit = int64_t{a[i]} - (i < b.size() ? int64_t{b[i]} : 0) - borrow;
    borrow = digit < 0 ? 1 : 0;
    digit += borrow << 32;
    difference[i] = static_cast<uint32_t>(digit);
  }
  trim_limbs(difference);
  return difference;
}

// Long division bit by bit: slow and plainly right.
void divide_limbs(const Limbs& a, const Limbs& b, Limbs& quotient, Limbs& remainder) {
  quotient.assign(a.size(), 0);
  remainder.clear();
  for (size_t bit = a.size() * 32; bit-- > 0;) {
    uint32_t carry = (a[bit / 32] >> (bit % 32)) & 1u;
    for (uint32_t& limb : remainder) {
      const uint32_t top = limb >> 31;
      limb = (limb << 1) | carry;
      carry = top;
    }
    if (carry != 0) {
      remainder.push_back(carry);
    }
    if (compare_limbs(remainder, b) >= 0) {
      remainder = subtract_limbs(remainder, b);
      quotient[bit / 32] |= 1u << (bit % 32);
    }
  }
  trim_limbs(quotient);
}

}  // namespace

BigInt::BigInt(int64_t value) : negative_(value < 0) {
  uint64_t magnitude = negative_ ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  for (; magnitude != 0; magnitude >>= 32) {
    limbs_.push_back(static_cast<uint32_t>(magnitude));
  }
}

BigInt BigInt::from_double(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::trunc(value), &exponent);
  BigInt result(static_cast<int64_t>(std::ldexp(fraction, 53)));
  const int shift = exponent - 53;
  if (shift < 0) {
    return BigInt(static_cast<int64_t>(value));
  }
  BigInt power(1);
  power.limbs_.insert(power.limbs_.begin(), static_cast<size_t>(shift / 32), 0);
  power.limbs_.back() = 1u << (shift % 32);
  return result * power;
}

std::optional<BigInt> BigInt::parse(std::string_view digits, uint32_t base) {
  BigInt result;
  if (digits.empty()) {
    return std::nullopt;
  }
  for (const char c : digits) {
    uint32_t digit = 99;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint32_t>(c - '0');
    } else if (const char low = static_cast<char>(c | 0x20); low >= 'a' && low <= 'z') {
      digit = static_cast<uint32_t>(low - 'a') + 10;
    }
    if (digit >= base) {
      return std::nullopt;
    }
    uint64_t carry = digit;
    for (uint32_t& limb : result.limbs_) {
      carry += uint64_t{limb} * base;
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) {
      result.limbs_.push_back(static_cast<uint32_t>(carry));
    }
  }
  return result;
}

size_t BigInt::bits() const {
  return limbs_.empty() ? 0
                        : limbs_.size() * 32 - static_cast<size_t>(std::countl_zero(limbs_.back()));
}

std::optional<int64_t> BigInt::as_int64() const {
  if (limbs_.size() > 2) {
    return std::nullopt;
  }
  uint64_t magnitude = 0;
  for (size_t i = limbs_.size(); i-- > 0;) {
    magnitude = (magnitude << 32) | limbs_[i];
  }
  const uint64_t limit = (uint64_t{1} << 63) - (negative_ ? 0 : 1);
  if (magnitude > limit) {
    return std::nullopt;
  }
  return static_cast<int64_t>(negative_ ? 0 - magnitude : magnitude);
}

double BigInt::as_double() const {
  // The top 64 bits, with every lower bit gathered in the last one: that rounds as the whole would.
  const size_t n_bits = bits();
  if (n_bits <= 64) {
    uint64_t magnitude = 0;
    for (size_t i = limbs_.size(); i-- > 0;) {
      magnitude = (magnitude << 32) | limbs_[i];
    }
    const auto value = static_cast<double>(magnitude);
    return negative_ ? -value : value;
  }
  const size_t shift = n_bits - 64;
  uint64_t top = 0;
  bool lower = false;
  for (size_t bit = 0; bit < n_bits; ++bit) {
    const bool set = ((limbs_[bit / 32] >> (bit % 32)) & 1u) != 0;
    if (bit < shift) {
      lower = lower || set;
    } else if (set) {
      top |= uint64_t{1} << (bit - shift);
    }
  }
  const double value =
      std::ldexp(static_cast<double>(top | (lower ? 1u : 0u)), static_cast<int>(shift));
  return negative_ ? -value : value;
}

std::string BigInt::to_string(uint32_t base) const {
  if (is_zero()) {
    return "0";
  }
  BigInt rest = *this;
  std::string digits;
  while (!rest.is_zero()) {
    digits += "0123456789abcdef"[rest.divide_small(base)];
  }
  if (negative_) {
    digits += '-';
  }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

BigInt BigInt::negated() const {
  BigInt result = *this;
  result.negative_ = !negative_ && !is_zero();
  return result;
}

BigInt operator+(const BigInt& a, const BigInt& b) {
  BigInt result;
  if (a.negative_ == b.negative_) {
    result.limbs_ = add_limbs(a.limbs_, b.limbs_);
    result.negative_ = a.negative_;
  } else if (compare_limbs(a.limbs_, b.limbs_) >= 0) {
    result.limbs_ = subtract_limbs(a.limbs_, b.limbs_);
    result.negative_ = a.negative_;
  } else {
    result.limbs_ = subtract_limbs(b.limbs_, a.limbs_);
    result.negative_ = b.negative_;
  }
  result.trim();
  return result;
}

BigInt operator-(const BigInt& a, const BigInt& b) {
  return a + b.negated();
}

BigInt operator*(const BigInt& a, const BigInt& b) {
  BigInt result;
  result.limbs_.assign(a.limbs_.size() + b.limbs_.size(), 0);
  for (size_t i = 0; i < a.limbs_.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < b.limbs_.size() || carry != 0; ++j) {
      carry += result.limbs_[i + j];
      carry += j < b.limbs_.size() ? uint64_t{a.limbs_[i]} * b.limbs_[j] : 0;
      result.limbs_[i + j] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  result.negative_ = a.negative_ != b.negative_;
  result.trim();
  return result;
}

void BigInt::divide(const BigInt& a, const BigInt& b, BigInt& quotient, BigInt& remainder) {
  BigInt q;
  BigInt r;
  divide_limbs(a.limbs_, b.limbs_, q.limbs_, r.limbs_);
  q.negative_ = a.negative_ != b.negative_;
  r.negative_ = a.negative_;
  q.trim();
  r.trim();
  if (!r.is_zero() && r.negative_ != b.negative_) {  // from rounding to zero to rounding down
    q = q - BigInt(1);
    r = r + b;
  }
  quotient = q;
  remainder = r;
}

std::strong_ordering operator<=>(const BigInt& a, const BigInt& b) {
  if (a.negative_ != b.negative_) {
    return a.negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  const int order = compare_limbs(a.limbs_, b.limbs_) * (a.negative_ ? -1 : 1);
  return order <=> 0;
}

void BigInt::trim() {
  trim_limbs(limbs_);
  negative_ = negative_ && !limbs_.empty();
}

uint32_t BigInt::divide_small(uint32_t divisor) {
  uint64_t rest = 0;
  for (size_t i = limbs_.size(); i-- > 0;) {
    rest = (rest << 32) | limbs_[i];
    limbs_[i] = static_cast<uint32_t>(rest / divisor);
    rest %= divisor;
  }
  trim_limbs(limbs_);
  return static_cast<uint32_t>(rest);
}

}  // namespace fathom::codec::jinja
