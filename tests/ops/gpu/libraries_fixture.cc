#include "tests/ops/gpu/libraries_fixture.h"

#include <vector>

#include "base/check.h"
#include "ops/gpu/conv/conv_engines.h"
#include "ops/gpu/library/cublas_lt.h"
#include "ops/gpu/library/cudnn.h"
#include "tests/ops/cases/all_cases.h"
#include "tests/ops/gpu/fake_cublas_lt.h"
#include "tests/ops/gpu/fake_cudnn.h"
#include "tests/ops/gpu/under_test.h"
#include "tests/support/status_matchers.h"

namespace spillway::testing {

void ResetFakes() {
  ForgetConvEnginesForTest();
  SetCublasLtForTest(&FakeCublasLtApi());
  SetCudnnForTest(&FakeCudnnApi());
  EXPECT_EQ(FakeCublasLt().objects, 0) << "not destroyed";
  EXPECT_EQ(FakeCudnn().objects, 0) << "not destroyed";
  FakeCublasLt() = {};
  FakeCudnn() = {};
}

OpCase CaseNamed(const std::string& name) {
  const OpCases& all = AllOpCases();
  for (const std::vector<OpCase>* cases : {&all.good, &all.only_on_gpu}) {
    for (const OpCase& op_case : *cases) {
      if (op_case.name == name) return op_case;
    }
  }
  SPILLWAY_CHECK(!"no case of this name");
}

absl::Status GpuLibrariesTest::Run(const std::string& name,
                                   const MathOptions& math) {
  const OpCase op_case = CaseNamed(name);
  return RunOpCase(op_case, {.factory = GpuFactory(op_case.op), .math = math})
      .status();
}

absl::StatusOr<std::unique_ptr<Kernel>> GpuLibrariesTest::Prepare(
    const OpCase& op_case, const KernelChoice& choice) {
  std::vector<TensorType> types;
  for (const CaseInput& input : op_case.inputs) types.push_back(input.type);
  return GpuFactory(op_case.op)({.attributes = op_case.attributes,
                                 .inputs = types,
                                 .outputs = op_case.outputs,
                                 .math = choice.math,
                                 .algorithm = choice.algorithm});
}

int64_t GpuLibrariesTest::WorkspaceBytes(const std::string& name) {
  const auto kernel = Prepare(CaseNamed(name));
  EXPECT_THAT(kernel, IsOk());
  return kernel.ok() ? (*kernel)->workspace_bytes() : -1;
}

std::vector<std::string> GpuLibrariesTest::Names(const std::string& name,
                                                 const MathOptions& math) {
  const auto kernel = Prepare(CaseNamed(name), {.math = math});
  EXPECT_THAT(kernel, IsOk());
  if (!kernel.ok()) return {};
  const auto list = (*kernel)->ListAlgorithms();
  EXPECT_THAT(list, IsOk());
  if (!list.ok()) return {};
  std::vector<std::string> names;
  for (const KernelAlgorithm& algorithm : *list) {
    names.push_back(algorithm.name);
  }
  return names;
}

void GpuLibrariesTest::OfferNoEngines() { FakeCudnn().engines.emplace(); }

}  // namespace spillway::testing
