// Paths of the sources and the program that tests read and run.

#ifndef SPILLWAY_TESTS_SUPPORT_PATHS_H_
#define SPILLWAY_TESTS_SUPPORT_PATHS_H_

#include <string>

namespace spillway::testing {

// "docs/ops.md" in the source folder.
std::string SourcePath(const std::string& path);

// A shipped device profile; "p100_pcie".
std::string ProfilePath(const std::string& name);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_PATHS_H_
