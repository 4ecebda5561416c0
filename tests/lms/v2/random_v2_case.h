// Random graphs with all constructs that the rules of version 2 mention, and
// random options for them: equal seeds give equal cases.
#ifndef SPILLWAY_TESTS_LMS_V2_RANDOM_V2_CASE_H_
#define SPILLWAY_TESTS_LMS_V2_RANDOM_V2_CASE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lms/options.h"

namespace spillway::testing {

class RandomV2Case {
 public:
  explicit RandomV2Case(uint32_t seed) : random_(seed) {}

  // Without loops even in graphs that would have some.
  Graph MakeGraph(bool with_loops = true);

  // With compat; no number is -1.
  LmsOptions MakeOptions(const Graph& graph);

  int Below(int limit);

 private:
  std::string RandomName(const Graph& graph, int i, bool loops);
  std::string RandomType();
  void AddOp(Graph& graph, int i, int width, bool loops);
  std::string RandomSlice();
  void RandomFilter(const Graph& graph, int rarity,
                    std::vector<std::string>& scopes,
                    std::vector<std::string>& types);

  std::mt19937 random_;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_LMS_V2_RANDOM_V2_CASE_H_
