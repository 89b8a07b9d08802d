// Names of the element and block types.
#include "base/dtype.h"

#include <array>
#include <cstddef>

namespace fathom {

std::string_view name_of(DType type) {
  static constexpr std::array<std::string_view, kNumDTypes> kNames = {
      "F32",     "F16",     "BF16", "Q4_0", "Q4_1",   "Q5_0",   "Q5_1",  "Q8_0",     "Q2_K",
      "Q3_K",    "Q4_K",    "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4", "I4_GROUP", "I8_GROUP",
      "F8_E4M3", "F8_E5M2", "I8",   "I16",  "I32",    "I64",    "F64",   "U8"};
  static_assert(!kNames.back().empty());
  return kNames[static_cast<size_t>(type)];
}

}  // namespace fathom
