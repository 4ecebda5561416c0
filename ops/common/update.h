// What the ops that update variables in place (Apply...) share.
//
// Their inputs are groups of variable, slots..., gradient, one for each
// variable, and then the learning rate that all groups share; each group has an
// output, the updated variable. What a node does to a group does not depend on
// the others.
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
  // Beside those of GradientRule; `check` says what is wrong with all of them.
  std::vector<std::string> attributes = {};
  absl::Status (*check)(const Attributes& attributes) = nullptr;
  double flops_per_element = 0;
};

// The schema of such an op. All tensors are float32, slots and gradient of
// their variable's shape but for slots called "beta_power", which have two
// elements; the rate is a scalar. The op overwrites variables and slots. Errors
// of its shape inference name the input, and the group where there are several.
OpDef UpdateDef(const UpdateSchema& schema);

// Each rule from a node's attributes, defaults and ranges included. Errors:
// INVALID_ARGUMENT that names the attribute.
absl::StatusOr<GradientRule> ReadGradientRule(const Attributes& attributes);
absl::StatusOr<MomentumRule> ReadMomentumRule(const Attributes& attributes);
absl::StatusOr<AdamRule> ReadAdamRule(const Attributes& attributes);
absl::StatusOr<RmsPropRule> ReadRmsPropRule(const Attributes& attributes);

// Where the inputs of a node's groups are.
struct UpdateGroups {
  size_t inputs_each = 0;              // variable, slots..., gradient
  std::vector<int64_t> elements = {};  // of each group's variable

  size_t count() const { return elements.size(); }
  size_t variable(size_t group) const { return group * inputs_each; }
  size_t slot(size_t group, size_t i) const { return variable(group) + 1 + i; }
  size_t gradient(size_t group) const { return variable(group + 1) - 1; }
  size_t learning_rate() const { return variable(count()); }
};
UpdateGroups GroupsOf(std::span<const TensorType> inputs,
                      std::span<const TensorType> outputs);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_UPDATE_H_
