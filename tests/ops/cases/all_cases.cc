#include "tests/ops/cases/all_cases.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tests/ops/cases/float16_cases.h"
#include "tests/ops/cases/part_cases.h"

namespace spillway::testing {
namespace {

void Append(OpCases more, OpCases& all) {
  std::ranges::move(more.good, std::back_inserter(all.good));
  std::ranges::move(more.bad, std::back_inserter(all.bad));
}

OpCases MakeCases() {
  OpCases all;
  Append(ActivationCases(), all);
  Append(AddCases(), all);
  Append(BatchNormCases(), all);
  Append(ChoiceCases(), all);
  Append(ClassifyCases(), all);
  Append(ClipCases(), all);
  Append(CollectiveCases(), all);
  Append(Conv2DCases(), all);
  Append(Conv3DCases(), all);
  Append(ConvTransposeCases(), all);
  Append(DropoutCases(), all);
  Append(GatherCases(), all);
  Append(LayoutCases(), all);
  Append(GroupNormCases(), all);
  Append(LrnCases(), all);
  Append(MatMulCases(), all);
  Append(PoolCases(), all);
  Append(ReduceCases(), all);
  Append(SoftmaxCases(), all);
  Append(SourceCases(), all);
  Append(UnaryCases(), all);
  Append(UpdateCases(), all);
  AddPartCases(all);
  AddFloat16Cases(all);
  return all;
}

}  // namespace

const OpCases& AllOpCases() {
  static const auto& cases = *new OpCases(MakeCases());
  return cases;
}

}  // namespace spillway::testing
