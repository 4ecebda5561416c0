// A second implementation of TFLMS version 1, directly from its description:
// sets, loops and recursion; every question is answered by examining all nodes.
// Shares only the options with lms/.
#ifndef SPILLWAY_TESTS_LMS_V1_NAIVE_V1_H_
#define SPILLWAY_TESTS_LMS_V1_NAIVE_V1_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lms/options.h"

namespace spillway::testing {

struct NaiveSwapIn {
  std::set<std::string> readers = {};
  // All valid triggers if the original's choice is arbitrary.
  std::set<std::string> triggers = {};
  std::string latest_trigger = {};  // of these; ties go to the first created
};

struct NaiveSwap {
  std::string tensor = {};
  std::vector<NaiveSwapIn> swap_ins = {};
};

struct NaiveEdit {
  std::set<std::string> seeds = {};
  std::map<std::string, int> orders = {};
  int backward_start = -1;
  std::vector<NaiveSwap> swaps = {};
  bool has_cycle = false;  // with the latest triggers
};

// The original's edit with the options of version 1; sets are visited in order
// of creation. The options must be in range and name existing things.
NaiveEdit EditAsOriginal(const LmsOptions& options, const Graph& graph);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_LMS_V1_NAIVE_V1_H_
