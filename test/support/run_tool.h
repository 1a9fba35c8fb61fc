// Runs the built executable as a user does.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace isa_audit::test {

struct Ran {
  int exit_code = -1;
  std::string output; // standard output; standard error with it where the command says 2>&1
};

// `command` is for sh.
inline Ran run_shell(const std::string &command) {
  Ran out;
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe) return out;
  std::array<char, 65536> buffer;
  while (size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) out.output.append(buffer.data(), got);
  int status = pclose(pipe);
  out.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return out;
}

inline std::string shell_word(const std::string &word) {
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

} // namespace isa_audit::test
