#include "onnx_model/op_family/op_table.h"

#include <fmt/format.h>

#include <array>
#include <map>

namespace spillway::onnx_model {
namespace {

using Table = std::map<std::string_view, const OpEntry*>;

Table MakeTable() {
  const std::array<std::span<const OpEntry>, 16> families = {
      ConstantOps(),  ConvolutionOps(), PoolOps(),       NormalizationOps(),
      LinearOps(),    ActivationOps(),  ArithmeticOps(), ShapeOps(),
      SelectionOps(), GatherOps(),      AffineNormOps(), PadOps(),
      ReductionOps(), ChoiceOps(),      LossOps(),       ResizeOps()};
  Table table;
  for (const std::span<const OpEntry> family : families) {
    for (const OpEntry& entry : family) table.emplace(entry.name, &entry);
  }
  return table;
}

}  // namespace

absl::Status CheckConstantSize(int64_t elements) {
  if (elements <= kMostConstantElements) return absl::OkStatus();
  return Unimplemented(
      fmt::format("it needs a constant of {} elements; {} are possible",
                  elements, kMostConstantElements));
}

absl::Status CheckReals(const NodeConversion& node) {
  if (IsFloating(node.type(0))) return absl::OkStatus();
  return Unimplemented(
      fmt::format("an input of {}", ElementTypeName(node.type(0))));
}

const OpEntry* FindOp(std::string_view name) {
  static const Table kTable = MakeTable();
  const auto found = kTable.find(name);
  return found == kTable.end() ? nullptr : found->second;
}

}  // namespace spillway::onnx_model
