// write_photographs FOLDER COUNT: JPEG files for training from a folder of
// images (benchmarks/reading_beside_steps.py).
#include <fmt/format.h>

#include "absl/strings/numbers.h"
#include "benchmarks/micro/photograph.h"

// What throws here, such as a lack of memory, may end the program.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  int64_t count = 0;
  if (argc != 3 || !absl::SimpleAtoi(argv[2], &count) || count < 2) {
    fmt::print(stderr, "usage: {} FOLDER COUNT (at least 2)\n", argv[0]);
    return 2;
  }
  const absl::Status status = spillway::WritePhotographs(argv[1], count);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.ToString());
  return status.ok() ? 0 : 1;
}
