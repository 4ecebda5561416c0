#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace spillway::internal {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace spillway::internal
