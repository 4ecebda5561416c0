#include "graph/op_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/check.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

// "2 inputs", "1 to 3 inputs", "2 inputs or more", "4 inputs, or 3 more for
// each further group"
std::string ExpectedInputs(const OpDef& def, size_t least, size_t most) {
  if (def.variadic) return fmt::format("{} inputs or more", least);
  if (def.group_inputs != 0) {
    return fmt::format("{} inputs, or {} more for each further group", most,
                       def.group_inputs);
  }
  if (least != most) return fmt::format("{} to {} inputs", least, most);
  return fmt::format("{} input{}", most, most == 1 ? "" : "s");
}

absl::Status CheckNumInputs(const OpDef& def, size_t given) {
  const size_t most = def.inputs.size();
  const size_t least = most - static_cast<size_t>(def.optional_inputs);
  const bool is_whole_groups =
      def.group_inputs != 0 && given > most &&
      (given - most) % static_cast<size_t>(def.group_inputs) == 0;
  if (given >= least && (given <= most || def.variadic || is_whole_groups)) {
    return absl::OkStatus();
  }
  return InvalidArgument(fmt::format("{} takes {} ({}); {} given", def.name,
                                     ExpectedInputs(def, least, most),
                                     fmt::join(def.inputs, ", "), given));
}

absl::Status CheckAttributeNames(const OpDef& def,
                                 const Attributes& attributes) {
  for (const auto& [name, value] : attributes.items()) {
    if (std::ranges::find(def.attributes, name) != def.attributes.end()) {
      continue;
    }
    return InvalidArgument(
        fmt::format("{} has no attribute '{}'; it has: {}", def.name, name,
                    def.attributes.empty()
                        ? "none"
                        : fmt::format("{}", fmt::join(def.attributes, ", "))));
  }
  return absl::OkStatus();
}

// The op's own function, which others may have written.
absl::StatusOr<std::vector<TensorType>> CallInfer(const OpDef& def,
                                                  const InferContext& context) {
  if (def.infer == nullptr) {
    return InvalidArgument(fmt::format(
        "the op {} has no shape inference: set OpDef::infer", def.name));
  }
  try {
    return def.infer(context);
  } catch (const std::exception& error) {
    return Internal(fmt::format("the shape inference of {} threw: {}", def.name,
                                error.what()));
  } catch (...) {
    return Internal(fmt::format("the shape inference of {} threw", def.name));
  }
}

}  // namespace

void OpRegistry::Add(OpDef def) {
  SPILLWAY_CHECK(!def.name.empty());
  SPILLWAY_CHECK(def.infer != nullptr);
  SPILLWAY_CHECK(def.optional_inputs >= 0 &&
                 static_cast<size_t>(def.optional_inputs) <= def.inputs.size());
  SPILLWAY_CHECK(!def.variadic || !def.inputs.empty());
  SPILLWAY_CHECK(def.group_inputs >= 0 &&
                 static_cast<size_t>(def.group_inputs) <= def.inputs.size());
  SPILLWAY_CHECK(
      def.group_inputs == 0 ||
      (!def.variadic && def.optional_inputs == 0 && def.in_place.empty()));
  std::string name = def.name;
  const bool is_new = ops_.emplace(std::move(name), std::move(def)).second;
  SPILLWAY_CHECK(is_new);
}

const OpDef* OpRegistry::Find(std::string_view op) const {
  const auto it = ops_.find(op);
  return it == ops_.end() ? nullptr : &it->second;
}

absl::StatusOr<std::vector<TensorType>> InferOutputs(
    const OpDef& def, const InferContext& context) {
  SPILLWAY_RETURN_IF_ERROR(CheckNumInputs(def, context.inputs.size()));
  SPILLWAY_RETURN_IF_ERROR(CheckAttributeNames(def, context.attributes));
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<TensorType> outputs,
                            CallInfer(def, context));
  for (size_t i = 0; i < outputs.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(
        Annotate(CheckShape(outputs[i].shape), fmt::format("output {}", i)));
  }
  return outputs;
}

}  // namespace spillway
