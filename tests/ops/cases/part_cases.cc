#include "tests/ops/cases/part_cases.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph/parts.h"
#include "ops/all_ops.h"

namespace spillway::testing {
namespace {

constexpr int64_t kBefore = 3;
constexpr int64_t kAfter = 2;

// Rows of channels [begin, begin + size) of rows of `channels`.
Doubles Narrowed(const Doubles& wide, int64_t channels, const InputPart& part) {
  Doubles narrow;
  for (size_t i = 0; i < wide.size(); ++i) {
    const int64_t c = static_cast<int64_t>(i) % channels - part.begin;
    if (c >= 0 && c < part.size) narrow.push_back(wide[i]);
  }
  return narrow;
}

// Nothing if the op reads no parts here.
std::optional<OpCase> PartTwin(OpCase twin) {
  const OpDef& def = *StandardOps().Find(twin.op);
  std::vector<InputPart> parts;
  for (size_t i = 0; i < twin.inputs.size(); ++i) {
    TensorType& type = twin.inputs[i].type;
    if (!MayBePart(def, i) || type.shape.rank() == 0) continue;
    // Dense inputs beside parts: each second one of a repeated input.
    if (def.variadic && i % 2 == 1) continue;
    std::vector<int64_t> dims = type.shape.dims();
    parts.push_back({static_cast<int64_t>(i), kBefore, dims.back()});
    dims.back() += kBefore + kAfter;
    type.shape = Shape(std::move(dims));
    if (twin.inputs[i].fill == Fill::kValues) return std::nullopt;
  }
  if (parts.empty() || twin.attributes.contains(kParts)) return std::nullopt;
  twin.name += "OfParts";
  SetParts(parts, twin.attributes);
  twin.reference = [dense = std::move(twin.reference),
                    parts](const DoublesList& inputs) {
    DoublesList narrow = inputs;
    for (const InputPart& part : parts) {
      Doubles& input = narrow[static_cast<size_t>(part.input)];
      input = Narrowed(input, part.size + kBefore + kAfter, part);
    }
    return dense(narrow);
  };
  twin.gradients = {};
  twin.flops = std::nullopt;
  return twin;
}

}  // namespace

void AddPartCases(OpCases& cases) {
  const size_t num_dense = cases.good.size();
  for (size_t i = 0; i < num_dense; ++i) {
    if (std::optional<OpCase> twin = PartTwin(cases.good[i])) {
      cases.good.push_back(*std::move(twin));
    }
  }
}

}  // namespace spillway::testing
