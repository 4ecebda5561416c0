#include "onnx_model/convert/unsupported.h"

#include <fmt/format.h>

#include "base/status_macros.h"
#include "onnx_model/file/model_file.h"

namespace spillway::onnx_model {
namespace {

std::string NameOf(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  return node.output_size() > 0 ? node.output(0) : std::string("?");
}

std::string OpWithDomain(const onnx::NodeProto& node) {
  if (IsDefaultDomain(node.domain())) return node.op_type();
  return fmt::format("{}.{}", node.domain(), node.op_type());
}

}  // namespace

void UnsupportedOps::Add(const onnx::NodeProto& node, const std::string& why) {
  const std::string op = OpWithDomain(node);
  tally_.Add(op, NameOf(node), why);
  examples_.emplace(op, &node);
}

std::vector<OnnxUnsupported> UnsupportedOps::List() const {
  std::vector<OnnxUnsupported> list;
  for (const OpTally::Entry& entry : tally_.Sorted()) {
    const onnx::NodeProto& node = *examples_.at(entry.op);
    list.push_back({.op = node.op_type(),
                    .domain = node.domain(),
                    .count = entry.count,
                    .first_node = entry.first_node,
                    .why = entry.why});
  }
  return list;
}

absl::Status UnsupportedOps::Status() const {
  if (tally_.is_empty()) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "cannot import {}; import --plan_only can plan it, but not run it",
      tally_.ToString()));
}

}  // namespace spillway::onnx_model
