// What --version prints. Read next: kernels/dispatch.h.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/cpu.h"
#include "command.h"
#include "kernels/dispatch.h"

namespace fathom::app {

namespace {

std::string names_of(const std::vector<Isa>& sets) {
  std::string names;
  for (const Isa set : sets) {
    names += names.empty() ? "" : " ";
    names += name_of(set);
  }
  return names;
}

}  // namespace

const char* version() {
  return FATHOM_VERSION;
}

std::string version_text() {
  const kernels::Dispatch dispatch =
      kernels::make_dispatch(detect_cpu(), kAutomaticIsa, false, false);
#if defined(__clang__)
  constexpr const char* kCompiler = "clang " __clang_version__;
#else
  constexpr const char* kCompiler = "g++ " __VERSION__;
#endif
  return fmt::format("fathom {}\ncommit    {}\ncompiler  {}\nbuilt     {}\nusable    {}\n",
                     FATHOM_VERSION, commit(), kCompiler, names_of(dispatch.built),
                     names_of(dispatch.usable));
}

}  // namespace fathom::app
