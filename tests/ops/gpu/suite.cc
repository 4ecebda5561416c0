// Checks the GPU's kernels with the cases of every op (op_case.h), on the GPU
// of under_test.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "graph/input_groups.h"
#include "graph/op_registry.h"
#include "ops/all_ops.h"
#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/derived_case.h"
#include "tests/ops/cases/run_op_case.h"
#include "tests/ops/gpu/under_test.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::AllOpCases;
using testing::Doubles;
using testing::DoublesList;
using testing::IsOk;
using testing::OpCase;
using testing::OpRun;
using testing::RunOpOptions;

std::vector<OpCase> Cases() {
  const testing::OpCases& all = AllOpCases();
  std::vector<OpCase> cases = all.good;
  cases.insert(cases.end(), all.only_on_gpu.begin(), all.only_on_gpu.end());
  std::erase_if(cases, [](const OpCase& op_case) {
    return op_case.reference == nullptr ||
           testing::GpuFactory(op_case.op) == nullptr;
  });
  return cases;
}

class GpuKernelTest : public ::testing::TestWithParam<OpCase> {
 protected:
  static const OpDef& Def() { return *StandardOps().Find(GetParam().op); }

  void SetUp() override {
    const absl::Status gpu = testing::GpuStatus();
    if (absl::IsUnavailable(gpu)) GTEST_SKIP() << gpu.message();
    ASSERT_THAT(gpu, IsOk());
  }

  static absl::StatusOr<OpRun> RunOnGpu(const RunOpOptions& options = {}) {
    return testing::RunOnGpu(GetParam(), options);
  }

  // Outputs, and inputs that the op overwrites.
  static std::vector<HostTensor> Results(const OpRun& run) {
    std::vector<HostTensor> results = run.outputs;
    for (const int i : MutatedInputs(Def(), run.inputs.size())) {
      results.push_back(run.inputs[static_cast<size_t>(i)]);
    }
    return results;
  }

  // Also checks that the inputs that it only reads are unchanged.
  static void ExpectIsAsReference(const OpRun& run) {
    const std::vector<HostTensor> before = testing::MakeInputs(GetParam());
    const std::vector<int> mutated = MutatedInputs(Def(), before.size());
    DoublesList inputs;
    for (size_t i = 0; i < before.size(); ++i) {
      inputs.push_back(testing::ToDoubles(before[i]));
      if (std::ranges::count(mutated, static_cast<int>(i)) > 0) continue;
      EXPECT_EQ(run.inputs[i].bytes, before[i].bytes) << "input " << i;
    }
    const DoublesList want = GetParam().reference(inputs);
    const std::vector<HostTensor> results = Results(run);
    ASSERT_EQ(results.size(), want.size());
    for (size_t k = 0; k < want.size(); ++k) {
      const Doubles got = testing::ToDoubles(results[k]);
      ASSERT_EQ(got.size(), want[k].size());
      for (size_t i = 0; i < got.size(); ++i) {
        const double allowed =
            GetParam().tolerance * std::max(1.0, std::abs(want[k][i]));
        ASSERT_TRUE(std::abs(got[i] - want[k][i]) <= allowed)
            << fmt::format("result {} element {}: got {}, want {} within {}", k,
                           i, got[i], want[k][i], allowed);
      }
    }
  }

  static void ExpectSameBits(const std::vector<HostTensor>& got,
                             const std::vector<HostTensor>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(got[i].bytes, want[i].bytes) << "result " << i;
    }
  }
};

TEST_P(GpuKernelTest, ComputesWhatItsReferenceComputes) {
  ASSERT_OK_AND_ASSIGN(const OpRun run, RunOnGpu());
  ExpectIsAsReference(run);
}

TEST_P(GpuKernelTest, ComputesItByEveryAlgorithm) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<KernelAlgorithm> list,
      testing::ListAlgorithms(GetParam(),
                              {.factory = testing::GpuFactory(GetParam().op),
                               .slice = testing::GpuFactory("Slice")}));
  for (const KernelAlgorithm& algorithm : list) {
    SCOPED_TRACE(algorithm.name);
    ASSERT_OK_AND_ASSIGN(const OpRun run,
                         RunOnGpu({.algorithm = algorithm.name}));
    ExpectIsAsReference(run);
  }
}

TEST_P(GpuKernelTest, GivesTheSameBitsInPlace) {
  if (Def().in_place.empty()) return;
  ASSERT_OK_AND_ASSIGN(const OpRun want, RunOnGpu());
  for (const std::vector<BufferPair>& pairs :
       testing::InPlaceChoices(GetParam())) {
    ASSERT_OK_AND_ASSIGN(const OpRun got, RunOnGpu({.in_place = pairs}));
    ExpectSameBits(got.outputs, want.outputs);
  }
}

// Recomputation relies on it (lms/recompute).
TEST_P(GpuKernelTest, DerivedOutputsHaveTheSameBits) {
  if (Def().derive == nullptr) return;
  ASSERT_OK_AND_ASSIGN(const OpRun want, RunOnGpu());
  for (size_t i = 0; i < want.outputs.size(); ++i) {
    const std::optional<OpCase> derived =
        testing::DerivedCase(GetParam(), want, static_cast<int>(i));
    if (!derived) continue;
    std::vector<std::vector<BufferPair>> choices =
        testing::InPlaceChoices(*derived);
    choices.emplace_back();
    for (const std::vector<BufferPair>& in_place : choices) {
      ASSERT_OK_AND_ASSIGN(const OpRun got,
                           testing::RunOnGpu(*derived, {.in_place = in_place}));
      EXPECT_EQ(got.outputs[0].bytes, want.outputs[i].bytes);
    }
  }
}

TEST_P(GpuKernelTest, GivesTheSameBitsAgain) {
  ASSERT_OK_AND_ASSIGN(const OpRun first, RunOnGpu());
  ASSERT_OK_AND_ASSIGN(const OpRun again, RunOnGpu());
  ExpectSameBits(Results(again), Results(first));
}

// A build without CUDA has no cases.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuKernelTest);

INSTANTIATE_TEST_SUITE_P(Ops, GpuKernelTest, ::testing::ValuesIn(Cases()),
                         [](const ::testing::TestParamInfo<OpCase>& info) {
                           return info.param.name;
                         });

}  // namespace
}  // namespace spillway
