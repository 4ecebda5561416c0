// Checks every op with its cases (op_case.h), and that it has some.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/input_groups.h"
#include "graph/op_registry.h"
#include "ops/all_ops.h"
#include "ops/cpu/lanes.h"
#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/derived_case.h"
#include "tests/ops/cases/run_op_case.h"
#include "tests/ops/op_gradient.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::AllOpCases;
using testing::BadOp;
using testing::Doubles;
using testing::DoublesList;
using testing::GraphGradients;
using ::testing::HasSubstr;
using testing::MakeInputs;
using testing::OpCase;
using testing::OpRun;
using testing::RunOpCase;
using testing::StatusIs;
using testing::ToDoubles;

// At most so many elements of an input are checked for their gradient.
constexpr size_t kMostDifferences = 24;

const OpDef& DefOf(const OpCase& op_case) {
  return *StandardOps().Find(op_case.op);
}

std::vector<TensorType> InputTypes(const OpCase& op_case) {
  std::vector<TensorType> types;
  for (const testing::CaseInput& input : op_case.inputs) {
    types.push_back(input.type);
  }
  return types;
}

DoublesList AllToDoubles(const std::vector<HostTensor>& tensors) {
  DoublesList all;
  for (const HostTensor& tensor : tensors) all.push_back(ToDoubles(tensor));
  return all;
}

std::vector<OpCase> CasesWhere(bool (*holds)(const OpCase&)) {
  std::vector<OpCase> cases = AllOpCases().good;
  std::erase_if(cases, [=](const OpCase& c) { return !holds(c); });
  return cases;
}

template <typename Case>
std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

void ExpectNear(const Doubles& got, const Doubles& want, double tolerance,
                const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    const double allowed = tolerance * std::max(1.0, std::abs(want[i]));
    ASSERT_TRUE(std::abs(got[i] - want[i]) <= allowed)
        << fmt::format("{} element {}: got {}, want {} within {}", what, i,
                       got[i], want[i], allowed);
  }
}

// Outputs, and inputs that the op overwrites.
std::vector<HostTensor> Results(const OpCase& op_case, const OpRun& run) {
  std::vector<HostTensor> results = run.outputs;
  for (const int i : MutatedInputs(DefOf(op_case), run.inputs.size())) {
    results.push_back(run.inputs[static_cast<size_t>(i)]);
  }
  return results;
}

void ExpectSameBits(const std::vector<HostTensor>& got,
                    const std::vector<HostTensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].bytes, want[i].bytes) << "result " << i;
  }
}

class OpCaseTest : public ::testing::TestWithParam<OpCase> {};

TEST_P(OpCaseTest, InfersTheStatedTypes) {
  const std::vector<TensorType> inputs = InputTypes(GetParam());
  ASSERT_OK_AND_ASSIGN(
      const std::vector<TensorType> outputs,
      InferOutputs(DefOf(GetParam()),
                   {.attributes = GetParam().attributes, .inputs = inputs}));
  EXPECT_EQ(outputs, GetParam().outputs);
}

// For cases whose kernels run.
class OpRunTest : public OpCaseTest {
 protected:
  void SetUp() override {
    if (GetParam().needs_avx512 && !HasAvx512()) {
      GTEST_SKIP() << "needs a CPU with AVX-512";
    }
  }
};

class OpKernelTest : public OpRunTest {};

TEST_P(OpKernelTest, ComputesWhatItsReferenceComputes) {
  ASSERT_OK_AND_ASSIGN(const OpRun run, RunOpCase(GetParam()));
  const DoublesList want =
      GetParam().reference(AllToDoubles(MakeInputs(GetParam())));
  const DoublesList got = AllToDoubles(Results(GetParam(), run));
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ExpectNear(got[i], want[i], GetParam().tolerance,
               fmt::format("result {}", i));
  }
}

TEST_P(OpKernelTest, EachOfItsAlgorithmsComputesThat) {
  ASSERT_OK_AND_ASSIGN(const std::vector<KernelAlgorithm> algorithms,
                       testing::ListAlgorithms(GetParam()));
  if (algorithms.empty()) return;
  const DoublesList want =
      GetParam().reference(AllToDoubles(MakeInputs(GetParam())));
  for (const auto& [name, workspace_bytes] : algorithms) {
    ASSERT_OK_AND_ASSIGN(const OpRun run,
                         RunOpCase(GetParam(), {.algorithm = name}));
    const DoublesList got = AllToDoubles(Results(GetParam(), run));
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ExpectNear(got[i], want[i], GetParam().tolerance,
                 fmt::format("{}: result {}", name, i));
    }
  }
}

TEST_P(OpKernelTest, LeavesTheInputsThatItOnlyReads) {
  ASSERT_OK_AND_ASSIGN(const OpRun run, RunOpCase(GetParam()));
  const std::vector<HostTensor> before = MakeInputs(GetParam());
  const std::vector<int> mutates =
      MutatedInputs(DefOf(GetParam()), before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    if (std::ranges::count(mutates, static_cast<int>(i)) > 0) continue;
    EXPECT_EQ(run.inputs[i].bytes, before[i].bytes) << "input " << i;
  }
}

TEST_P(OpKernelTest, GivesTheSameBitsAgainAndOnAnyThreads) {
  ASSERT_OK_AND_ASSIGN(const OpRun first, RunOpCase(GetParam()));
  ASSERT_OK_AND_ASSIGN(const OpRun again, RunOpCase(GetParam()));
  ExpectSameBits(Results(GetParam(), again), Results(GetParam(), first));
  if (!GetParam().same_bits_for_any_threads) return;
  for (const int threads : {1, 3}) {
    ASSERT_OK_AND_ASSIGN(const OpRun other,
                         RunOpCase(GetParam(), {.threads = threads}));
    ExpectSameBits(Results(GetParam(), other), Results(GetParam(), first));
  }
}

class OpInPlaceTest : public OpRunTest {};

bool HasInPlacePairs(const OpCase& op_case) {
  return op_case.reference != nullptr &&
         !testing::InPlaceChoices(op_case).empty();
}

TEST_P(OpInPlaceTest, GivesTheSameBitsInPlace) {
  ASSERT_OK_AND_ASSIGN(const OpRun want, RunOpCase(GetParam()));
  for (const std::vector<BufferPair>& pairs :
       testing::InPlaceChoices(GetParam())) {
    ASSERT_OK_AND_ASSIGN(const OpRun got,
                         RunOpCase(GetParam(), {.in_place = pairs}));
    ExpectSameBits(got.outputs, want.outputs);
  }
}

class OpDeriveTest : public OpRunTest {};

// Recomputation relies on it (lms/recompute).
TEST_P(OpDeriveTest, DerivedOutputsHaveTheSameBits) {
  ASSERT_OK_AND_ASSIGN(const OpRun want, RunOpCase(GetParam()));
  int num_derived = 0;
  for (size_t i = 0; i < want.outputs.size(); ++i) {
    const std::optional<OpCase> derived =
        testing::DerivedCase(GetParam(), want, static_cast<int>(i));
    if (!derived) continue;
    ++num_derived;
    std::vector<std::vector<BufferPair>> choices =
        testing::InPlaceChoices(*derived);
    choices.emplace_back();
    for (const std::vector<BufferPair>& in_place : choices) {
      for (const int threads : {1, 2, 5}) {
        ASSERT_OK_AND_ASSIGN(
            const OpRun got,
            RunOpCase(*derived, {.threads = threads, .in_place = in_place}));
        EXPECT_EQ(got.outputs[0].bytes, want.outputs[i].bytes);
      }
    }
  }
  EXPECT_GT(num_derived, 0);
}

class OpGradientTest : public OpRunTest {};

TEST_P(OpGradientTest, HasTheGradientThatCentralDifferencesShow) {
  ASSERT_OK_AND_ASSIGN(const DoublesList gradients, GraphGradients(GetParam()));
  testing::ReferenceGradient reference(GetParam());
  for (size_t k = 0; k < gradients.size(); ++k) {
    const int input = GetParam().gradients[k];
    const size_t stride = gradients[k].size() / kMostDifferences + 1;
    for (size_t i = 0; i < gradients[k].size(); i += stride) {
      ExpectNear({gradients[k][i]}, {reference.At(input, i)},
                 GetParam().gradient_tolerance,
                 fmt::format("d loss / d input {}[{}],", input, i));
    }
  }
}

class OpCostTest : public OpCaseTest {};

TEST_P(OpCostTest, CountsTheStatedFlops) {
  const std::vector<TensorType> inputs = InputTypes(GetParam());
  const OpCost cost = DefOf(GetParam())
                          .cost({.attributes = GetParam().attributes,
                                 .inputs = inputs,
                                 .outputs = GetParam().outputs});
  EXPECT_EQ(cost.flops, *GetParam().flops);
  EXPECT_GT(cost.bytes, 0);
}

// The cases for which the CPU has no kernels.
class OnlyOnGpuTest : public OpCaseTest {
 protected:
  // Their bytes are only moved, on the CPU too.
  static bool OnlyMoves() {
    const std::set<std::string> moves = {"Concat", "ConcatInto", "Identity",
                                         "Pad",    "Select",     "Reshape",
                                         "Slice",  "Transpose"};
    return moves.contains(GetParam().op);
  }
};

TEST_P(OnlyOnGpuTest, TheCpuNamesTheDTypeThatItHasNoKernelFor) {
  if (OnlyMoves()) return;
  EXPECT_THAT(RunOpCase(GetParam()).status(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("the CPU has no kernel for this node with a "
                                 "tensor of float16[")));
}

TEST_P(OnlyOnGpuTest, TwoShortTypesAreRefused) {
  std::vector<TensorType> inputs = InputTypes(GetParam());
  const auto count = std::ranges::count_if(inputs, [](const TensorType& type) {
    return type.dtype == DType::kFloat16;
  });
  for (TensorType& input : inputs) {
    if (count < 2 || input.dtype != DType::kFloat16) continue;
    input.dtype = DType::kBFloat16;
    EXPECT_THAT(
        InferOutputs(DefOf(GetParam()),
                     {.attributes = GetParam().attributes, .inputs = inputs}),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("float16")));
    input.dtype = DType::kFloat16;
  }
}

class BadOpTest : public ::testing::TestWithParam<BadOp> {};

TEST_P(BadOpTest, IsRefusedWithItsReason) {
  const OpDef* def = StandardOps().Find(GetParam().op);
  EXPECT_THAT(InferOutputs(*def, {.attributes = GetParam().attributes,
                                  .inputs = GetParam().inputs}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(GetParam().error)));
}

TEST(AllOpsTest, EveryOpHasACaseThatChecksIt) {
  // A resident or fed value, or a copy by the executor: nothing to compute.
  const std::set<std::string> types_only = {
      "Const",  "CopyToDevice", "CopyToHost", "Placeholder",
      "SwapIn", "SwapOut",      "Variable"};
  std::set<std::string> checked;
  for (const OpCase& op_case : AllOpCases().good) {
    const bool computes = op_case.reference != nullptr;
    EXPECT_EQ(computes, !types_only.contains(op_case.op)) << op_case.name;
    checked.insert(op_case.op);
  }
  for (const auto& [name, def] : StandardOps().ops()) {
    EXPECT_TRUE(checked.contains(name)) << name;
  }
}

TEST(AllOpsTest, EveryGradientFunctionIsChecked) {
  std::set<std::string> checked;
  for (const OpCase& op_case : AllOpCases().good) {
    if (!op_case.gradients.empty()) checked.insert(op_case.op);
  }
  for (const auto& [name, def] : StandardOps().ops()) {
    EXPECT_EQ(checked.contains(name), def.gradient != nullptr) << name;
  }
}

TEST(AllOpsTest, EveryOpRefusesSomething) {
  std::set<std::string> refused;
  for (const BadOp& bad : AllOpCases().bad) refused.insert(bad.op);
  for (const auto& [name, def] : StandardOps().ops()) {
    EXPECT_TRUE(refused.contains(name)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpCaseTest,
                         ::testing::ValuesIn(AllOpCases().good),
                         NameOf<OpCase>);
INSTANTIATE_TEST_SUITE_P(Ops, OpKernelTest,
                         ::testing::ValuesIn(CasesWhere([](const OpCase& c) {
                           return c.reference != nullptr;
                         })),
                         NameOf<OpCase>);
INSTANTIATE_TEST_SUITE_P(Ops, OpInPlaceTest,
                         ::testing::ValuesIn(CasesWhere(HasInPlacePairs)),
                         NameOf<OpCase>);
INSTANTIATE_TEST_SUITE_P(Ops, OpDeriveTest,
                         ::testing::ValuesIn(CasesWhere([](const OpCase& c) {
                           return c.reference != nullptr &&
                                  DefOf(c).derive != nullptr;
                         })),
                         NameOf<OpCase>);
INSTANTIATE_TEST_SUITE_P(Ops, OpGradientTest,
                         ::testing::ValuesIn(CasesWhere([](const OpCase& c) {
                           return !c.gradients.empty();
                         })),
                         NameOf<OpCase>);
INSTANTIATE_TEST_SUITE_P(Ops, OpCostTest,
                         ::testing::ValuesIn(CasesWhere([](const OpCase& c) {
                           return c.flops.has_value();
                         })),
                         NameOf<OpCase>);
INSTANTIATE_TEST_SUITE_P(OnlyOnGpu, OpCaseTest,
                         ::testing::ValuesIn(AllOpCases().only_on_gpu),
                         NameOf<OpCase>);
INSTANTIATE_TEST_SUITE_P(Ops, OnlyOnGpuTest,
                         ::testing::ValuesIn(AllOpCases().only_on_gpu),
                         NameOf<OpCase>);
INSTANTIATE_TEST_SUITE_P(Ops, BadOpTest, ::testing::ValuesIn(AllOpCases().bad),
                         NameOf<BadOp>);

}  // namespace
}  // namespace spillway
