#include "onnx_model/convert/import_network.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/status_macros.h"
#include "onnx_model/convert/append_loss.h"
#include "onnx_model/convert/convert_nodes.h"
#include "onnx_model/convert/freeze.h"
#include "onnx_model/convert/fuse_decomposed.h"
#include "onnx_model/convert/import_state.h"
#include "onnx_model/convert/model_inputs.h"

namespace spillway::onnx_model {
namespace {

absl::StatusOr<std::vector<OnnxValue>> AddInputs(const ModelInputs& inputs,
                                                 ImportState& state) {
  GraphBuilder& g = state.builder();
  std::vector<OnnxValue> added;
  for (const ModelInput& input : inputs.inputs) {
    const Tensor feed = g.Placeholder(state.NodeName(input.name, "input"),
                                      *DTypeOf(input.type), Shape(input.dims));
    SPILLWAY_RETURN_IF_ERROR(g.status());
    added.push_back({.name = input.name,
                     .tensor = feed,
                     .element_type = ElementTypeName(input.type)});
    Tensor x = feed;
    if (IsFloating(input.type) && state.options().dtype != feed.dtype()) {
      x = g.Add(g, {.op = "Cast",
                    .inputs = {feed},
                    .attributes = {{"dtype", state.options().dtype}},
                    .name = state.NodeName(input.name + "/Cast", "Cast")});
    }
    ModelValue value = {
        .name = input.name, .type = input.type, .dims = input.dims};
    value.arranged = AsIs(x);
    state.Define(std::move(value));
  }
  return added;
}

absl::Status DefineInitializers(ImportState& state) {
  const ModelFile& file = state.file();
  for (const onnx::TensorProto& tensor : file.graph().initializer()) {
    ModelValue value = {
        .name = tensor.name(), .type = TypeOf(tensor), .dims = DimsOf(tensor)};
    if (IsFloating(value.type)) {
      value.weight = Weight{.initializer = &tensor};
    } else {
      absl::StatusOr<Constant> constant = ReadConstant(tensor, file.path());
      if (!constant.ok()) {
        return Annotate(constant.status(),
                        fmt::format("initializer {}", tensor.name()));
      }
      value.constant = *std::move(constant);
    }
    state.Define(std::move(value));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<OnnxValue>> FindOutputs(ImportState& state) {
  std::vector<OnnxValue> outputs;
  for (const onnx::ValueInfoProto& output : state.file().graph().output()) {
    ModelValue* value = state.Find(output.name());
    if (value == nullptr) {
      return InvalidArgument(
          fmt::format("output {}: nothing makes it", output.name()));
    }
    SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, state.TensorOf(*value));
    GraphBuilder& g = state.builder();
    const Tensor ordered = Ordered(g, x, Identity(x.rank()));
    SPILLWAY_RETURN_IF_ERROR(g.status());
    outputs.push_back({.name = output.name(),
                       .tensor = ordered,
                       .element_type = ElementTypeName(value->type)});
  }
  if (outputs.empty()) return InvalidArgument("has no outputs");
  return outputs;
}

std::vector<std::string> NamesOf(const std::vector<OnnxVariable>& variables) {
  std::vector<std::string> names;
  for (const OnnxVariable& variable : variables) {
    if (!variable.is_statistic) names.push_back(variable.initializer);
  }
  return names;
}

// Evaluation exports of PyTorch merge batch norm into convolutions.
void AddBatchNormNote(const OnnxFacts& facts, OnnxNetwork& network) {
  if (facts.batch_norms > 0 || facts.convolutions_with_bias < 4) return;
  network.notes.push_back(fmt::format(
      "no BatchNormalization, {} convolutions with a bias: batch norm may have "
      "been folded away; export with training=TrainingMode.TRAINING, "
      "do_constant_folding=False, and optimize=False from PyTorch 2.9 on, to "
      "train it",
      facts.convolutions_with_bias));
}

// Newer exporters of PyTorch merge equal initializers: those of scales and
// offsets that were never trained.
void AddMergedNote(const std::set<std::string>& merged, OnnxNetwork& network) {
  if (merged.empty()) return;
  network.notes.push_back(fmt::format(
      "{}, first {}, of one number throughout, read by several nodes: trained "
      "as one; if an exporter has merged equal tensors, export without that "
      "(PyTorch: optimize=False)",
      Counted(merged.size(), "weight"), *merged.begin()));
}

void AddPlanOnlyNote(OnnxNetwork& network) {
  int64_t nodes = 0;
  for (const OnnxUnsupported& op : network.unsupported) nodes += op.count;
  if (nodes == 0) return;
  network.notes.push_back(fmt::format(
      "the gradients of {} are planned as nodes that read all inputs, outputs "
      "and gradients: an upper bound of their memory",
      Counted(nodes, "plan-only node")));
}

OnnxFacts FactsOf(const ModelFile& file, size_t nodes) {
  const onnx::ModelProto& model = file.model();
  return {.file = std::filesystem::path(file.path()).filename().string(),
          .ir_version = model.ir_version(),
          .opset = file.opset(),
          .producer = model.producer_version().empty()
                          ? model.producer_name()
                          : fmt::format("{} {}", model.producer_name(),
                                        model.producer_version()),
          .nodes = static_cast<int64_t>(nodes)};
}

}  // namespace

absl::StatusOr<OnnxNetwork> ImportNetwork(
    const ModelFile& file, std::span<const onnx::NodeProto* const> nodes,
    GraphBuilder& g, const OnnxImportOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const FrozenNames frozen,
      FrozenNames::Make(options.freeze, options.train_only));
  SPILLWAY_ASSIGN_OR_RETURN(const ModelInputs inputs,
                            BindInputs(file.graph(), options));
  ImportState state(g, file, options, frozen);
  state.batch_size = inputs.batch_size;
  state.file_batch = inputs.file_batch;
  state.facts = FactsOf(file, nodes.size());
  OnnxNetwork network = {.batch_size = inputs.batch_size};
  SPILLWAY_ASSIGN_OR_RETURN(network.inputs, AddInputs(inputs, state));
  SPILLWAY_RETURN_IF_ERROR(DefineInitializers(state));
  const FusedNodes fused = FuseDecomposed(nodes, file.graph());
  state.facts.fused_nodes = fused.num_fused;
  const StatedTypes stated(file.graph(), inputs);
  SPILLWAY_ASSIGN_OR_RETURN(
      network.unsupported,
      ConvertNodes(fused.nodes, options.plan_only ? &stated : nullptr, state));
  if (options.training.has_value()) {
    SPILLWAY_RETURN_IF_ERROR(AppendLoss(*options.training, state, network));
    AddBatchNormNote(state.facts, network);
    AddMergedNote(state.merged(), network);
    AddPlanOnlyNote(network);
  } else {
    SPILLWAY_ASSIGN_OR_RETURN(network.outputs, FindOutputs(state));
  }
  SPILLWAY_RETURN_IF_ERROR(frozen.CheckFinds(NamesOf(state.variables())));
  network.facts = state.facts;
  network.variables = state.variables();
  return network;
}

}  // namespace spillway::onnx_model
