#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "tools/spillway/command_line.h"

int main(int argc, char** argv) {
  constexpr int kDoesNotFit = 3;  // docs/cli.md
  try {
    return spillway::RunCommandLine({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    std::fputs("spillway: this process may not have more memory\n", stderr);
    return kDoesNotFit;
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "spillway: no thread can be started: %s\n",
                 error.what());
    return kDoesNotFit;
  }
}
