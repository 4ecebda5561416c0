// Shared by the ops that update variables in place (Apply...) and by
// AccumulateGradient.
//
// Their inputs are groups of variable, slots..., gradient, one group per
// variable, and then the learning rate (or another tensor), which all groups
// share; each group has one output, the updated variable. The update of a group
// does not depend on the other groups.
#ifndef SPILLWAY_OPS_COMMON_UPDATE_H_
#define SPILLWAY_OPS_COMMON_UPDATE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "ops/common/update_rules.h"

namespace spillway {

struct UpdateSchema {
  std::string name = {};
  std::vector<std::string> slots = {};
  // Besides those of GradientRule; `check` validates all of them.
  std::vector<std::string> attributes = {};
  absl::Status (*check)(const Attributes& attributes) = nullptr;
  double flops_per_element = 0;
  // The kernel reads variable and gradient twice: first for their norms.
  bool needs_norms = false;
  // The input that all groups share, float32.
  std::string shared = "learning_rate";
  Shape shared_shape = {};
  // Whether the op has the attributes of GradientRule.
  bool has_gradient_rule = true;
};

// The schema of such an op. All tensors are float32. Slots and gradient have
// their variable's shape, except slots called "beta_power", which have two
// elements. The op overwrites variables and slots. Errors
// of its shape inference name the input, and the group if there are several.
OpDef UpdateDef(const UpdateSchema& schema);

// Reads a rule from a node's attributes, with defaults and range checks.
// Errors: INVALID_ARGUMENT that names the attribute.
absl::StatusOr<GradientRule> ReadGradientRule(const Attributes& attributes);
absl::StatusOr<MomentumRule> ReadMomentumRule(const Attributes& attributes);
absl::StatusOr<VelocityRule> ReadVelocityRule(const Attributes& attributes);
absl::StatusOr<LarsRule> ReadLarsRule(const Attributes& attributes);
absl::StatusOr<AdagradRule> ReadAdagradRule(const Attributes& attributes);
absl::StatusOr<AdamRule> ReadAdamRule(const Attributes& attributes);
absl::StatusOr<RmsPropRule> ReadRmsPropRule(const Attributes& attributes);

// The inputs of a node's groups.
struct UpdateGroups {
  size_t inputs_each = 0;              // variable, slots..., gradient
  std::vector<int64_t> elements = {};  // of each group's variable

  size_t count() const { return elements.size(); }
  size_t variable(size_t group) const { return group * inputs_each; }
  size_t slot(size_t group, size_t i) const { return variable(group) + 1 + i; }
  size_t gradient(size_t group) const { return variable(group + 1) - 1; }
  size_t shared() const { return variable(count()); }
};
UpdateGroups GroupsOf(std::span<const TensorType> inputs,
                      std::span<const TensorType> outputs);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_UPDATE_H_
