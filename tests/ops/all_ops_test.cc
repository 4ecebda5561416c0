#include "ops/all_ops.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "graph/storage.h"
#include "graph/well_known_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(AllOps, HaveAKernelUnlessTheExecutorDoesTheirWork) {
  for (const auto& [name, def] : StandardOps().ops()) {
    const bool needs_none = def.resident || IsPureAlias(&def) ||
                            name == kPlaceholder || CopiesToHost(name) ||
                            CopiesToDevice(name);
    const KernelFactory cpu = StandardKernels().Find(name, DeviceKind::kCpu);
    EXPECT_EQ(cpu == nullptr, needs_none) << name;
  }
}

TEST(AllOps, ReferOnlyToInputsAndOutputsThatExist) {
  for (const auto& [name, def] : StandardOps().ops()) {
    const int inputs = def.variadic ? std::numeric_limits<int>::max()
                                    : static_cast<int>(def.inputs.size());
    const auto outputs = static_cast<int>(def.outputs.size());
    std::vector<BufferPair> pairs = def.alias;
    pairs.insert(pairs.end(), def.in_place.begin(), def.in_place.end());
    for (const BufferPair& pair : pairs) {
      EXPECT_LT(pair.input, inputs) << name;
      EXPECT_LT(pair.output, outputs) << name;
    }
    for (const int input : def.mutates) EXPECT_LT(input, inputs) << name;
  }
}

TEST(AllOps, RefuseFloat16OnTheCpu) {
  const TensorType half = {.dtype = DType::kFloat16, .shape = {4}};
  const std::vector<TensorType> types = {half};
  const Attributes attributes;
  const KernelFactory relu = StandardKernels().Find("Relu", DeviceKind::kCpu);
  EXPECT_THAT(
      relu({.attributes = attributes, .inputs = types, .outputs = types}),
      StatusIs(absl::StatusCode::kUnimplemented,
               HasSubstr("a tensor of float16[4]")));
}

}  // namespace
}  // namespace spillway
