// TFLMS version 1 once more, straight from its description: sets, loops and
// recursion, every question answered by looking at all nodes. Shares nothing
// with lms/ but the options.
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
  // Where the original's choice is arbitrary, all it may choose.
  std::set<std::string> triggers = {};
  std::string latest_trigger = {};  // of these; the first made of the latest
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

// What the original does with the options of version 1; sets are gone through
// in the order in which nodes were made. The options must be in range and name
// things that exist.
NaiveEdit EditAsOriginal(const LmsOptions& options, const Graph& graph);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_LMS_V1_NAIVE_V1_H_
