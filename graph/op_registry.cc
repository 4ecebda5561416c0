#include "graph/op_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "graph/index_limits.h"
#include "graph/input_groups.h"
#include "graph/parts.h"

namespace spillway {
namespace {

// "2 inputs", "1 to 3 inputs", "2 inputs or more", "4 inputs, or 3 more for
// each further group"
std::string ExpectedInputs(const OpDef& def, size_t least, size_t most) {
  if (def.variadic) return fmt::format("{} or more", Counted(least, "input"));
  if (def.group_inputs != 0) {
    return fmt::format("{}, or {} more for each further group",
                       Counted(most, "input"), def.group_inputs);
  }
  if (least != most) return fmt::format("{} to {} inputs", least, most);
  return Counted(most, "input");
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
    if (std::ranges::find(def.attributes, name) != def.attributes.end() ||
        (name == kParts && !def.part_inputs.empty())) {
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

// Messages, groups, aliases and gradients rely on the definition. The last
// outputs may be left out, but not those of groups.
absl::Status CheckNumOutputs(const OpDef& def, size_t num_inputs,
                             size_t inferred) {
  const auto groups = static_cast<size_t>(NumGroups(def, num_inputs));
  const size_t defined = def.outputs.size() * groups;
  const size_t least = groups > 1 ? defined : 1;
  if (inferred >= least && inferred <= defined) return absl::OkStatus();
  return Internal(fmt::format(
      "the shape inference of {} returns {}; it has {} here", def.name,
      Counted(inferred, "type"), Counted(defined, "output")));
}

// Calls the op's own function, which may be user code.
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

bool IsInput(int slot, const OpDef& def) {
  return slot >= 0 &&
         (def.variadic || static_cast<size_t>(slot) < def.inputs.size());
}

bool IsOutput(int slot, const OpDef& def) {
  return slot >= 0 && static_cast<size_t>(slot) < def.outputs.size();
}

absl::Status CheckPairs(const OpDef& def, const std::vector<BufferPair>& pairs,
                        std::string_view what) {
  for (const BufferPair& pair : pairs) {
    if (IsInput(pair.input, def) && IsOutput(pair.output, def)) continue;
    return InvalidArgument(fmt::format(
        "{} pairs input {} with output {}; the op has {} inputs and {} outputs",
        what, pair.input, pair.output, def.inputs.size(), def.outputs.size()));
  }
  return absl::OkStatus();
}

bool HasPairsTogether(const OpDef& def) {
  if (def.group_inputs != 0) return !def.in_place.empty();
  return std::ranges::any_of(def.in_place, [&](const BufferPair& a) {
    return std::ranges::any_of(def.in_place, [&](const BufferPair& b) {
      return a.input != b.input && a.output != b.output;
    });
  });
}

absl::Status CheckGroups(const OpDef& def) {
  if (def.group_inputs == 0) return absl::OkStatus();
  if (def.group_inputs < 0 ||
      static_cast<size_t>(def.group_inputs) > def.inputs.size()) {
    return InvalidArgument(
        fmt::format("has groups of {} inputs, but only {} inputs",
                    def.group_inputs, def.inputs.size()));
  }
  if (!def.variadic && def.optional_inputs == 0 && def.index_inputs.empty()) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "an op with groups has no variadic or optional inputs and no "
      "index_inputs");
}

absl::Status CheckIndexInputs(const OpDef& def) {
  const size_t num_single = def.inputs.size() - (def.variadic ? 1 : 0);
  for (const IndexInput& index : def.index_inputs) {
    if (index.input < 0 || static_cast<size_t>(index.input) >= num_single) {
      return InvalidArgument(
          fmt::format("index_inputs names input {}, but only {} inputs are "
                      "not repeated",
                      index.input, num_single));
    }
    if (index.limit == nullptr) {
      return InvalidArgument(
          fmt::format("index_inputs has no limit for input {}", index.input));
    }
  }
  return absl::OkStatus();
}

// Checks that the parts of the definition fit together.
absl::Status CheckDef(const OpDef& def) {
  if (def.name.empty()) return InvalidArgument("has no name");
  if (def.infer == nullptr) return InvalidArgument("has no infer function");
  if (def.outputs.empty()) return InvalidArgument("has no outputs");
  if (def.optional_inputs < 0 ||
      static_cast<size_t>(def.optional_inputs) > def.inputs.size()) {
    return InvalidArgument(
        fmt::format("has {} optional inputs, but only {} inputs",
                    def.optional_inputs, def.inputs.size()));
  }
  if (def.variadic && def.inputs.empty()) {
    return InvalidArgument("is variadic but has no inputs");
  }
  SPILLWAY_RETURN_IF_ERROR(CheckGroups(def));
  SPILLWAY_RETURN_IF_ERROR(CheckPairs(def, def.alias, "alias"));
  SPILLWAY_RETURN_IF_ERROR(CheckPairs(def, def.in_place, "in_place"));
  if ((def.recompute == RecomputeRule::kDerive) != (def.derive != nullptr)) {
    return InvalidArgument(
        "has a derive function without recompute kDerive, or the reverse");
  }
  if (def.in_place_together && !HasPairsTogether(def)) {
    return InvalidArgument(
        "has in_place_together, but no two pairs in in_place with different "
        "inputs and outputs");
  }
  for (const int input : def.mutates) {
    if (IsInput(input, def)) continue;
    return InvalidArgument(fmt::format("mutates input {}, but has {} inputs",
                                       input, def.inputs.size()));
  }
  if (!def.part_inputs.empty() &&
      std::ranges::count(def.attributes, kParts) > 0) {
    return InvalidArgument("has part_inputs and an attribute 'parts'");
  }
  for (const int input : def.part_inputs) {
    if (input >= 0 && static_cast<size_t>(input) < def.inputs.size()) continue;
    return InvalidArgument(
        fmt::format("part_inputs names input {}, but has {} inputs", input,
                    def.inputs.size()));
  }
  return CheckIndexInputs(def);
}

}  // namespace

OpRegistry::OpRegistry(const OpRegistry& other)
    : ops_(other.ops_), status_(other.status_) {
  MakeIndex();
}

// A map's elements keep their addresses when the map is moved or swapped.
OpRegistry& OpRegistry::operator=(OpRegistry other) {
  ops_.swap(other.ops_);
  index_.swap(other.index_);
  std::swap(status_, other.status_);
  return *this;
}

void OpRegistry::MakeIndex() {
  index_.reserve(ops_.size());
  for (const auto& [name, def] : ops_) index_.emplace(name, &def);
}

void OpRegistry::Add(OpDef def) {
  absl::Status added = CheckDef(def);
  const std::string name = def.name;
  if (added.ok() && ops_.contains(name)) {
    added = InvalidArgument("is registered twice");
  }
  if (added.ok()) {
    OpDef& op = ops_[name];
    op = std::move(def);
    index_.emplace(op.name, &op);
  }
  status_.Update(Annotate(added, fmt::format("op '{}'", name)));
}

const OpDef* OpRegistry::Find(std::string_view op) const {
  const auto found = index_.find(op);
  return found == index_.end() ? nullptr : found->second;
}

absl::StatusOr<std::vector<TensorType>> InferOutputs(const OpDef& def,
                                                     const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckNumInputs(def, node.inputs.size()));
  SPILLWAY_RETURN_IF_ERROR(CheckAttributeNames(def, node.attributes));
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<TensorType> inputs,
                            WithParts(def, node.attributes, node.inputs));
  const InferContext context = {.attributes = node.attributes,
                                .inputs = inputs};
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<TensorType> outputs,
                            CallInfer(def, context));
  SPILLWAY_RETURN_IF_ERROR(
      CheckNumOutputs(def, context.inputs.size(), outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(
        Annotate(CheckShape(outputs[i].shape), fmt::format("output {}", i)));
  }
  SPILLWAY_RETURN_IF_ERROR(IndexLimits(def, context).status());
  return outputs;
}

}  // namespace spillway
