// A step like a small network's, for policies worked out by hand.
//
//   step     0    1    2    3    4    5    6
//   writes   a    b    c    d    z    y    x
//   reads         a    b    c   c d  b z  a y
//
//   gap 0    a         (1 ................. 6)
//   gap 1    b              (2 ....... 5)
//
// All tensors have 1000 bytes, which take 1024, and all kernels take 1000 ns.
//   bytes   1    2    3    4    5    4    3   * 1024
#ifndef SPILLWAY_TESTS_TUNER_POLICIES_THERE_AND_BACK_H_
#define SPILLWAY_TESTS_TUNER_POLICIES_THERE_AND_BACK_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/toy_ops.h"
#include "tests/tuner/space_case.h"
#include "tests/tuner/tuner_case.h"

namespace spillway::testing {

struct ThereAndBack {
  int64_t a_bytes = 1000;
  int64_t a_ns = 1000;      // of the kernel that makes a
  double bytes_per_ns = 1;  // of the link
  std::string c_op = "F";   // reads b
};

inline constexpr int64_t kBlock = 1024;

inline TunerCase CaseOf(const ThereAndBack& step) {
  Graph graph("there and back");
  const auto add = [&](const char* name, std::vector<ValueId> inputs,
                       const std::string& op = "F", int64_t bytes = 1000) {
    return graph.output(graph.AddNode(
        {.name = name,
         .op = op,
         .inputs = std::move(inputs),
         .outputs = {{.dtype = DType::kUInt8, .shape = {bytes}}}}));
  };
  const ValueId a = add("a", {}, "F", step.a_bytes);
  const ValueId b = add("b", {a});
  const ValueId c = add("c", {b}, step.c_op);
  const ValueId d = add("d", {c});
  const ValueId z = add("z", {c, d});
  const ValueId y = add("y", {b, z});
  add("x", {a, y});
  TunerCase made =
      CaseOf(std::move(graph), ToyOps(), 1000, LinkOf(step.bytes_per_ns));
  made.kernel_ns[NodeId(0)] = step.a_ns;
  return Clonable(std::move(made));
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TUNER_POLICIES_THERE_AND_BACK_H_
