// A value that is read in slices, for tests of passes.
#ifndef SPILLWAY_TESTS_GRAPH_PASSES_ADD_HALVES_H_
#define SPILLWAY_TESTS_GRAPH_PASSES_ADD_HALVES_H_

#include <cstdint>
#include <vector>

#include "graph/builder/builder.h"
#include "models/layers/layers.h"

namespace spillway::testing {

// The two halves of x's channels, added.
inline Tensor AddHalves(const NameScope& scope, Tensor x) {
  std::vector<int64_t> size = x.shape().dims();
  std::vector<int64_t> begin(size.size(), 0);
  size.back() /= 2;
  const auto half = [&] {
    return scope.builder().Add(
        scope, {.op = "Slice",
                .inputs = {x},
                .attributes = {{"begin", begin}, {"size", size}}});
  };
  const Tensor first = half();
  begin.back() = size.back();
  return Add(scope, first, half());
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_GRAPH_PASSES_ADD_HALVES_H_
