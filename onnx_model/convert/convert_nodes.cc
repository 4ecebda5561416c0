#include "onnx_model/convert/convert_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/convert/plan_only.h"
#include "onnx_model/convert/unsupported.h"
#include "onnx_model/file/node_order.h"
#include "onnx_model/fold/fold.h"
#include "onnx_model/layout/arranged.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

// Elements of all folded tensors together; further ones are not folded.
constexpr int64_t kMaxFoldedInAll = int64_t{1} << 27;

class NodesConverter {
 public:
  NodesConverter(ImportState& state, const StatedTypes* plan_only)
      : state_(state), plan_only_(plan_only) {}

  absl::StatusOr<std::vector<OnnxUnsupported>> Convert(
      std::span<const onnx::NodeProto* const> nodes) {
    FindReads(nodes);
    for (const onnx::NodeProto* node : nodes) {
      SPILLWAY_RETURN_IF_ERROR(ConvertOne(*node));
    }
    if (!without_type_.empty()) return WithoutType();
    if (plan_only_ == nullptr) {
      SPILLWAY_RETURN_IF_ERROR(unsupported_.Status());
    }
    return unsupported_.List();
  }

 private:
  void FindReads(std::span<const onnx::NodeProto* const> nodes) {
    for (const onnx::NodeProto* node : nodes) {
      for (const std::string& read : ReadsOf(*node)) state_.AddRead(read);
    }
    for (const onnx::ValueInfoProto& output : state_.file().graph().output()) {
      state_.AddRead(output.name());
    }
  }

  absl::Status WithoutType() const {
    return InvalidArgument(fmt::format(
        "the shapes of these values are not known: {}; "
        "onnx.shape_inference.infer_shapes writes what it can into the file",
        fmt::join(without_type_, ", ")));
  }

  absl::Status ConvertOne(const onnx::NodeProto& proto) {
    const NodeView node(proto, state_.file().opset());
    const OpEntry* entry =
        IsDefaultDomain(proto.domain()) ? FindOp(proto.op_type()) : nullptr;
    const Folder folder =
        IsDefaultDomain(proto.domain()) ? FindFolder(proto.op_type()) : nullptr;
    if (IsDefaultDomain(proto.domain()) && proto.op_type() == "If") {
      return ConvertIf(node);
    }
    if (!HasAllInputs(proto)) {
      // What it reads is missing because something before is not supported.
      return entry == nullptr && folder == nullptr ? Refuse(proto, "")
                                                   : absl::OkStatus();
    }
    if (folder != nullptr && CanFold(node, entry)) {
      SPILLWAY_ASSIGN_OR_RETURN(const bool is_folded, Fold(node, folder));
      if (is_folded) return absl::OkStatus();
    }
    if (entry == nullptr) {
      return Refuse(proto,
                    folder == nullptr ? "" : "of values that are not constant");
    }
    return Finish(proto, Run(node, *entry));
  }

  // Of a condition that is known, the nodes of its branch take the node's
  // place: exporters write it for a squeeze.
  absl::Status ConvertIf(const NodeView& node) {
    const ModelValue* condition =
        node.has_input(0) ? state_.Find(node.input(0)) : nullptr;
    if (condition == nullptr || !condition->constant.has_value() ||
        condition->constant->size() != 1) {
      return Refuse(node.proto(), "of a condition that is not constant");
    }
    const bool is_true = condition->constant->real(0) != 0;
    absl::Status status = Inline(node, is_true ? "then_branch" : "else_branch");
    if (absl::IsUnimplemented(status)) {
      return Refuse(node.proto(), std::string(status.message()));
    }
    return Annotate(status, DescribeNode(node.proto()));
  }

  absl::Status Inline(const NodeView& node, std::string_view branch) {
    SPILLWAY_ASSIGN_OR_RETURN(const onnx::GraphProto* graph,
                              node.Subgraph(branch));
    if (graph == nullptr || graph->output_size() != node.num_outputs()) {
      return InvalidArgument(
          fmt::format("has no {} with {} outputs", branch, node.num_outputs()));
    }
    SPILLWAY_RETURN_IF_ERROR(ConvertBranch(*graph));
    for (int i = 0; i < node.num_outputs(); ++i) {
      const std::string& made = graph->output(i).name();
      if (node.has_output(i) && state_.Find(made) != nullptr) {
        state_.DefineAlias(node.output(i), made);
      }
    }
    return absl::OkStatus();
  }

  absl::Status ConvertBranch(const onnx::GraphProto& branch) {
    SPILLWAY_ASSIGN_OR_RETURN(const std::vector<const onnx::NodeProto*> nodes,
                              SortSubgraph(branch));
    for (const onnx::NodeProto* inner : nodes) {
      for (const std::string& output : inner->output()) {
        SPILLWAY_RETURN_IF_ERROR(CheckIsNew(output));
      }
    }
    SPILLWAY_RETURN_IF_ERROR(DefineConstants(branch));
    FindReads(nodes);
    for (const auto& output : branch.output()) state_.AddRead(output.name());
    for (const onnx::NodeProto* inner : nodes) {
      SPILLWAY_RETURN_IF_ERROR(ConvertOne(*inner));
    }
    return absl::OkStatus();
  }

  // That a value of a branch has a name that no value outside has.
  absl::Status CheckIsNew(const std::string& name) {
    if (state_.Find(name) == nullptr) return absl::OkStatus();
    return Unimplemented(fmt::format("a second value {}", name));
  }

  // Those of a branch are no weights: an export has its weights outside.
  absl::Status DefineConstants(const onnx::GraphProto& branch) {
    constexpr size_t kMostReals = 64;
    for (const onnx::TensorProto& tensor : branch.initializer()) {
      SPILLWAY_RETURN_IF_ERROR(CheckIsNew(tensor.name()));
      absl::StatusOr<Constant> constant =
          ReadConstant(tensor, state_.file().path());
      if (!constant.ok()) return Annotate(constant.status(), tensor.name());
      if (constant->is_real() && constant->size() > kMostReals) {
        return Unimplemented("weights in its branches");
      }
      state_.Define({.name = tensor.name(),
                     .type = constant->type,
                     .dims = constant->dims,
                     .constant = *std::move(constant)});
    }
    return absl::OkStatus();
  }

  bool HasAllInputs(const onnx::NodeProto& proto) {
    return std::ranges::all_of(ReadsOf(proto), [&](const std::string& read) {
      const ModelValue* value = state_.Find(read);
      return value != nullptr && value->is_known();
    });
  }

  // Whether its elements are known: also those of a small tensor of one number,
  // such as a mask, which could be a weight. `with_weights`: and of
  // initializers of reals.
  static bool HasKnownElements(const ModelValue& value, bool with_weights) {
    if (value.constant.has_value()) return true;
    return value.weight.has_value() && !value.arranged.has_value() &&
           (value.weight->fill.has_value() || with_weights) &&
           CountOf(value.dims) <= kMostConstantElements;
  }

  // What can only be folded takes weights, too: nothing could train them.
  bool CanFold(const NodeView& node, const OpEntry* entry) {
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (node.has_input(i) &&
          !HasKnownElements(*state_.Find(node.input(i)), entry == nullptr)) {
        return false;
      }
    }
    return node.num_inputs() > 0;
  }

  absl::StatusOr<Constant> ElementsOf(const ModelValue& value) {
    if (!value.weight->fill.has_value()) return state_.ConstantOf(value);
    return MakeConstant(
        value.type, value.dims,
        Reals(static_cast<size_t>(CountOf(value.dims)), *value.weight->fill));
  }

  absl::StatusOr<bool> Fold(const NodeView& node, Folder folder) {
    std::deque<Constant> made;  // elements of weights
    FoldContext context = {.node = node};
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Constant*& input = context.inputs.emplace_back();
      if (!node.has_input(i)) continue;
      const ModelValue& value = *state_.Find(node.input(i));
      if (value.constant.has_value()) {
        input = &*value.constant;
        continue;
      }
      SPILLWAY_ASSIGN_OR_RETURN(made.emplace_back(), ElementsOf(value));
      input = &made.back();
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
      const int output = static_cast<int>(i);
      if (!node.has_output(output)) continue;
      conversion.Set(output, std::move((*outputs)[i]));
      state_.Find(node.output(output))->is_folded = true;
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
      return Refuse(proto, std::string(converted.message()));
    }
    if (!converted.ok()) return DoesNotFit(proto, converted);
    bool is_constant = true;
    for (const std::string& output : proto.output()) {
      if (output.empty()) continue;
      const ModelValue* value = state_.Find(output);
      if (value == nullptr && state_.IsRead(output)) {
        return Refuse(proto, fmt::format("its output {} is read", output));
      }
      is_constant &= value != nullptr && !value->arranged.has_value();
    }
    if (is_constant) ++state_.facts.folded_nodes;
    return absl::OkStatus();
  }

  // A file that fixes its batch may have sizes that follow from it.
  absl::Status DoesNotFit(const onnx::NodeProto& proto,
                          const absl::Status& reason) const {
    const absl::Status status = Annotate(reason, DescribeNode(proto));
    if (state_.file_batch == 0 || state_.file_batch == state_.batch_size) {
      return status;
    }
    return InvalidArgument(fmt::format(
        "{}; the file is made for a batch of {}, not {}: export it with a "
        "dynamic batch",
        std::string(status.message()), state_.file_batch, state_.batch_size));
  }

  absl::Status Refuse(const onnx::NodeProto& proto, const std::string& why) {
    unsupported_.Add(proto, why);
    if (plan_only_ == nullptr || !HasAllInputs(proto)) return absl::OkStatus();
    const absl::StatusOr<std::vector<std::string>> without_type =
        AddPlanOnly(proto, *plan_only_, state_);
    if (!without_type.ok()) {
      return Annotate(without_type.status(), DescribeNode(proto));
    }
    without_type_.insert(without_type_.end(), without_type->begin(),
                         without_type->end());
    return absl::OkStatus();
  }

  ImportState& state_;
  const StatedTypes* plan_only_;  // null: not wanted
  UnsupportedOps unsupported_;
  std::vector<std::string> without_type_;
  int64_t folded_elements_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<OnnxUnsupported>> ConvertNodes(
    std::span<const onnx::NodeProto* const> nodes, const StatedTypes* plan_only,
    ImportState& state) {
  return NodesConverter(state, plan_only).Convert(nodes);
}

}  // namespace spillway::onnx_model
