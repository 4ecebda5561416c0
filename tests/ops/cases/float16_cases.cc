#include "tests/ops/cases/float16_cases.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace spillway::testing {
namespace {

bool Has(const OpCase& op_case, DType dtype) {
  return std::ranges::any_of(op_case.inputs,
                             [=](const CaseInput& input) {
                               return input.type.dtype == dtype;
                             }) ||
         std::ranges::any_of(op_case.outputs, [=](const TensorType& type) {
           return type.dtype == dtype;
         });
}

void Replace(TensorType& type) {
  if (type.dtype == DType::kBFloat16) type.dtype = DType::kFloat16;
}

}  // namespace

OpCase Float16Twin(OpCase op_case) {
  constexpr std::string_view kOld = "BFloat16";
  for (size_t at = op_case.name.find(kOld); at != std::string::npos;
       at = op_case.name.find(kOld)) {
    op_case.name.replace(at, kOld.size(), "Float16");
  }
  for (CaseInput& input : op_case.inputs) Replace(input.type);
  for (TensorType& output : op_case.outputs) Replace(output);
  const absl::StatusOr<DType> stated = op_case.attributes.GetDType("dtype");
  if (stated.ok() && *stated == DType::kBFloat16) {
    op_case.attributes.Set("dtype", DType::kFloat16);
  }
  if (op_case.tolerance == 0x1p-8) op_case.tolerance = 0x1p-11 + 0x1p-13;
  op_case.gradients = {};
  op_case.needs_avx512 = false;
  return op_case;
}

void AddFloat16Cases(OpCases& cases) {
  std::set<std::string> names;
  const auto stated = std::stable_partition(
      cases.good.begin(), cases.good.end(),
      [](const OpCase& c) { return !Has(c, DType::kFloat16); });
  for (auto op_case = stated; op_case != cases.good.end(); ++op_case) {
    names.insert(op_case->name);
    cases.only_on_gpu.push_back(std::move(*op_case));
  }
  cases.good.erase(stated, cases.good.end());
  for (const OpCase& op_case : cases.good) {
    if (!Has(op_case, DType::kBFloat16)) continue;
    OpCase twin = Float16Twin(op_case);
    if (!names.contains(twin.name)) {
      cases.only_on_gpu.push_back(std::move(twin));
    }
  }
}

}  // namespace spillway::testing
