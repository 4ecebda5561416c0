#include "onnx_model/file/inline_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/file/model_file.h"

namespace spillway::onnx_model {
namespace {

constexpr size_t kMaxNodes = size_t{1} << 20;
constexpr int kMaxInputs = 1 << 16;
constexpr size_t kMaxDepth = 64;  // of calls within calls

using FunctionKey = std::pair<std::string, std::string>;

FunctionKey KeyOf(const std::string& domain, const std::string& name) {
  return {IsDefaultDomain(domain) ? "" : domain, name};
}

// A call that is being replaced.
struct Call {
  const onnx::NodeProto* node = nullptr;
  const onnx::FunctionProto* function = nullptr;
  std::string prefix = {};
  std::map<std::string, std::string> values = {};  // of the body, to outside
};

const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node,
                                          const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

class Inliner {
 public:
  explicit Inliner(const onnx::ModelProto& model) : model_(model) {
    for (const onnx::FunctionProto& function : model.functions()) {
      functions_.emplace(KeyOf(function.domain(), function.name()), &function);
    }
  }

  absl::StatusOr<InlinedNodes> Run() {
    for (const onnx::NodeProto& node : model_.graph().node()) {
      SPILLWAY_RETURN_IF_ERROR(Add(node, nullptr));
    }
    return std::move(result_);
  }

 private:
  // Adds `node`, which belongs to the model or to `result_.copies`, or the body
  // of the function that it calls.
  absl::Status Add(const onnx::NodeProto& node, const std::string* prefix) {
    if (result_.nodes.size() >= kMaxNodes ||
        result_.copies.size() >= kMaxNodes) {
      return InvalidArgument(fmt::format("has more than {} nodes", kMaxNodes));
    }
    if (node.input_size() > kMaxInputs) {
      return InvalidArgument(
          fmt::format("node {} has {} inputs, at most {} are possible",
                      node.name(), node.input_size(), kMaxInputs));
    }
    const auto function = functions_.find(KeyOf(node.domain(), node.op_type()));
    if (function == functions_.end()) {
      result_.nodes.push_back(&node);
      return absl::OkStatus();
    }
    return Annotate(AddBody(node, *function->second, prefix),
                    fmt::format("function {}", node.op_type()));
  }

  absl::Status AddBody(const onnx::NodeProto& node,
                       const onnx::FunctionProto& function,
                       const std::string* outer) {
    if (std::ranges::find(open_, &function) != open_.end()) {
      return InvalidArgument("calls itself");
    }
    if (open_.size() >= kMaxDepth) {
      return InvalidArgument(
          fmt::format("is the call number {} within calls", kMaxDepth + 1));
    }
    Call call = {.node = &node, .function = &function};
    call.prefix = fmt::format(
        "{}{}/", outer == nullptr ? "" : *outer,
        node.name().empty() ? fmt::format("{}_{}", node.op_type(), calls_++)
                            : node.name());
    SPILLWAY_RETURN_IF_ERROR(BindValues(call));
    open_.push_back(&function);
    for (const onnx::NodeProto& inner : function.node()) {
      onnx::NodeProto& copy = result_.copies.emplace_back(inner);
      SPILLWAY_RETURN_IF_ERROR(Rename(call, copy));
      SPILLWAY_RETURN_IF_ERROR(Add(copy, &call.prefix));
    }
    open_.pop_back();
    return absl::OkStatus();
  }

  static absl::Status BindValues(Call& call) {
    const onnx::NodeProto& node = *call.node;
    const onnx::FunctionProto& function = *call.function;
    if (node.input_size() > function.input_size() ||
        node.output_size() > function.output_size()) {
      return InvalidArgument(fmt::format(
          "is called with {} inputs and {} outputs, it has {} and {}",
          node.input_size(), node.output_size(), function.input_size(),
          function.output_size()));
    }
    for (int i = 0; i < function.input_size(); ++i) {
      call.values[function.input(i)] =
          i < node.input_size() ? node.input(i) : std::string();
    }
    for (int i = 0; i < node.output_size(); ++i) {
      if (!node.output(i).empty()) {
        call.values[function.output(i)] = node.output(i);
      }
    }
    return absl::OkStatus();
  }

  static std::string Renamed(const Call& call, const std::string& value) {
    if (value.empty()) return {};
    const auto bound = call.values.find(value);
    return bound == call.values.end() ? call.prefix + value : bound->second;
  }

  static absl::Status Rename(const Call& call, onnx::NodeProto& node) {
    node.set_name(call.prefix + node.name());
    for (std::string& input : *node.mutable_input()) {
      input = Renamed(call, input);
    }
    for (std::string& output : *node.mutable_output()) {
      output = Renamed(call, output);
    }
    return BindAttributes(call, node);
  }

  static absl::Status BindAttributes(const Call& call, onnx::NodeProto& node) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> bound;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g() || attribute.graphs_size() > 0) {
        return InvalidArgument("has a subgraph in its body");
      }
      if (attribute.ref_attr_name().empty()) {
        *bound.Add() = attribute;
        continue;
      }
      // One that the call leaves out has the op's own default.
      const onnx::AttributeProto* given =
          FindAttribute(*call.node, attribute.ref_attr_name());
      if (given == nullptr) continue;
      onnx::AttributeProto& copy = *bound.Add();
      copy = *given;
      copy.set_name(attribute.name());
    }
    node.mutable_attribute()->Swap(&bound);
    return absl::OkStatus();
  }

  const onnx::ModelProto& model_;
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  std::vector<const onnx::FunctionProto*> open_;  // calls within calls
  int64_t calls_ = 0;
  InlinedNodes result_;
};

}  // namespace

absl::StatusOr<InlinedNodes> InlineFunctions(const onnx::ModelProto& model) {
  return Inliner(model).Run();
}

}  // namespace spillway::onnx_model
