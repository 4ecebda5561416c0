#include "onnx_model/convert/convert_nodes.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "onnx_model/convert/unsupported.h"
#include "onnx_model/file/node_order.h"
#include "onnx_model/fold/fold.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

// Elements of all folded tensors together; further ones are not folded.
constexpr int64_t kMaxFoldedInAll = int64_t{1} << 27;

std::string NameOf(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  return node.output_size() > 0 ? node.output(0) : std::string("?");
}

std::string OpWithDomain(const onnx::NodeProto& node) {
  if (IsDefaultDomain(node.domain())) return node.op_type();
  return fmt::format("{}.{}", node.domain(), node.op_type());
}

class NodesConverter {
 public:
  explicit NodesConverter(ImportState& state) : state_(state) {}

  absl::Status Convert(std::span<const onnx::NodeProto* const> nodes) {
    for (const onnx::NodeProto* node : nodes) {
      SPILLWAY_RETURN_IF_ERROR(ConvertOne(*node));
    }
    return unsupported_.Status();
  }

 private:
  absl::Status ConvertOne(const onnx::NodeProto& proto) {
    const NodeView node(proto, state_.file().opset());
    const OpEntry* entry =
        IsDefaultDomain(proto.domain()) ? FindOp(proto.op_type()) : nullptr;
    const Folder folder =
        IsDefaultDomain(proto.domain()) ? FindFolder(proto.op_type()) : nullptr;
    if (!HasAllInputs(proto)) {
      // What it reads is missing because something before is not supported.
      if (entry == nullptr && folder == nullptr) Refuse(proto, "");
      return absl::OkStatus();
    }
    if (folder != nullptr && HasConstantsOnly(node)) {
      SPILLWAY_ASSIGN_OR_RETURN(const bool is_folded, Fold(node, folder));
      if (is_folded) return absl::OkStatus();
    }
    if (entry == nullptr) {
      Refuse(proto, folder == nullptr ? "" : "of values that are not constant");
      return absl::OkStatus();
    }
    return Finish(proto, Run(node, *entry));
  }

  // Also notes an output that a node has but that we do not compute.
  bool HasAllInputs(const onnx::NodeProto& proto) {
    bool has_all = true;
    for (const std::string& read : ReadsOf(proto)) {
      const ModelValue* value = state_.Find(read);
      if (value != nullptr && value->is_known()) continue;
      has_all = false;
      const auto maker = made_.find(read);
      if (maker == made_.end()) continue;
      unsupported_.Add(OpWithDomain(*maker->second), NameOf(*maker->second),
                       fmt::format("its output {} is read", read));
    }
    return has_all;
  }

  bool HasConstantsOnly(const NodeView& node) {
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (node.has_input(i) &&
          !state_.Find(node.input(i))->constant.has_value()) {
        return false;
      }
    }
    return node.num_inputs() > 0;
  }

  absl::StatusOr<bool> Fold(const NodeView& node, Folder folder) {
    FoldContext context = {.node = node};
    for (int i = 0; i < node.num_inputs(); ++i) {
      context.inputs.push_back(
          node.has_input(i) ? &*state_.Find(node.input(i))->constant : nullptr);
    }
    absl::StatusOr<Constants> outputs = folder(context);
    if (absl::IsResourceExhausted(outputs.status())) return false;
    if (!outputs.ok()) {
      return Annotate(outputs.status(), DescribeNode(node.proto()));
    }
    for (const Constant& output : *outputs) {
      folded_elements_ += static_cast<int64_t>(output.size());
    }
    if (folded_elements_ > kMaxFoldedInAll) return false;
    NodeConversion conversion(state_, node);
    for (size_t i = 0; i < outputs->size(); ++i) {
      conversion.Set(static_cast<int>(i), std::move((*outputs)[i]));
    }
    ++state_.facts.folded_nodes;
    return true;
  }

  // That the inputs are as many as the op takes.
  static absl::Status CheckCount(const NodeView& node, const OpEntry& entry) {
    for (int i = 0; i < entry.min_inputs; ++i) {
      if (!node.has_input(i)) {
        return InvalidArgument(fmt::format("has no input {}", i));
      }
    }
    if (node.num_inputs() <= entry.max_inputs) return absl::OkStatus();
    return InvalidArgument(fmt::format("has {} inputs, at most {} are possible",
                                       node.num_inputs(), entry.max_inputs));
  }

  // Lists of dimensions, axes and the like may be empty.
  bool MayBeEmpty(const NodeView& node, int input) {
    const bool is_constant =
        state_.Find(node.input(input))->constant.has_value();
    return is_constant && (input > 0 || node.op() == "ConstantOfShape" ||
                           node.op() == "Shape" || node.op() == "Size");
  }

  absl::Status CheckInputs(const NodeView& node) {
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (!node.has_input(i) || MayBeEmpty(node, i)) continue;
      SPILLWAY_RETURN_IF_ERROR(CheckDims(state_.Find(node.input(i))->dims));
    }
    return absl::OkStatus();
  }

  absl::Status Run(const NodeView& node, const OpEntry& entry) {
    SPILLWAY_RETURN_IF_ERROR(CheckCount(node, entry));
    SPILLWAY_RETURN_IF_ERROR(CheckInputs(node));
    NodeConversion conversion(state_, node);
    SPILLWAY_RETURN_IF_ERROR(entry.convert(conversion));
    return state_.builder().status();
  }

  absl::Status Finish(const onnx::NodeProto& proto,
                      const absl::Status& converted) {
    if (absl::IsUnimplemented(converted)) {
      Refuse(proto, std::string(converted.message()));
      return absl::OkStatus();
    }
    if (!converted.ok()) return Annotate(converted, DescribeNode(proto));
    bool is_constant = true;
    for (const std::string& output : proto.output()) {
      if (output.empty()) continue;
      made_.emplace(output, &proto);
      const ModelValue* value = state_.Find(output);
      is_constant &= value != nullptr && !value->arranged.has_value();
    }
    if (is_constant) ++state_.facts.folded_nodes;
    return absl::OkStatus();
  }

  void Refuse(const onnx::NodeProto& proto, const std::string& why) {
    unsupported_.Add(OpWithDomain(proto), NameOf(proto), why);
  }

  ImportState& state_;
  UnsupportedOps unsupported_;
  int64_t folded_elements_ = 0;
  // Outputs of the nodes that were converted.
  std::map<std::string, const onnx::NodeProto*> made_;
};

}  // namespace

absl::Status ConvertNodes(std::span<const onnx::NodeProto* const> nodes,
                          ImportState& state) {
  return NodesConverter(state).Convert(nodes);
}

}  // namespace spillway::onnx_model
