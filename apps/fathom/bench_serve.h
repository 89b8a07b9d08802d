// fathom bench serve: load on a server, from outside.
// Called by apps/fathom/bench.cc. Read next: bench_serve.cc.
#pragma once

#include "command.h"

namespace fathom::app {

// `bench`: the command line of `fathom bench`, whose model then is not needed.
void add_bench_serve(CommandLine& bench, Command& command);

}  // namespace fathom::app
