#include "tools/spillway/command_line.h"

int main(int argc, char** argv) {
  return spillway::RunCommandLine({argv + 1, argv + argc});
}
