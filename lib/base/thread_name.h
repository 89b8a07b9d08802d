// A thread's name in ps, top, perf and gdb, so that their figures tell who did the work.
// Called by base/threads, api. Thread rule: names the calling thread.
#pragma once

#include <string>

namespace fathom {

// Linux keeps the first 15 bytes. Never fails: a name that cannot be set is left.
void name_this_thread(const std::string& name);

}  // namespace fathom
