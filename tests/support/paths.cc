#include "tests/support/paths.h"

namespace spillway::testing {

std::string SourcePath(const std::string& path) {
  return SPILLWAY_SOURCE_DIR "/" + path;
}

std::string ProfilePath(const std::string& name) {
  return SourcePath("simulator/profiles/" + name + ".json");
}

}  // namespace spillway::testing
