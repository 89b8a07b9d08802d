// Runs a program as a user's shell would: arguments, stdin, environment; what it printed, how it
// ended, and the most memory it held, measured from outside.
// Called by tests/apps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fathom::test {

struct ProgramInput {
  std::vector<std::string> arguments = {};
  std::string standard_input = {};            // sent, then closed
  std::vector<std::string> environment = {};  // NAME=VALUE, added to this process's
  int interrupt_after_ms = -1;                // sends SIGINT that long after the first output byte
  bool close_output = false;                  // the reader goes away after the first byte
  int64_t address_space_bytes = 0;            // RLIMIT_AS; 0: none
};

struct ProgramResult {
  int status = -1;  // exit status, or -signal
  std::string out;
  std::string err;
  int64_t peak_resident_bytes = 0;
};

// Runs `program` to its end, which must come within two minutes of processor time.
ProgramResult run_program(const std::string& program, const ProgramInput& input);

}  // namespace fathom::test
