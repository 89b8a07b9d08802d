// pthread names.
#include "base/thread_name.h"

#include <pthread.h>

namespace fathom {

void name_this_thread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace fathom
