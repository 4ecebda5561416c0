#include "ops/common/update.h"

#include "base/status_macros.h"
#include "ops/common/expect.h"

namespace spillway {

OpDef UpdateDef(const std::string& name,
                const std::vector<std::string>& slots) {
  OpDef def = {.name = name,
               .inputs = {"variable"},
               .outputs = {"updated"},
               .alias = {{.input = 0, .output = 0}},
               .mutates = {0}};
  for (const std::string& slot : slots) {
    def.mutates.push_back(static_cast<int>(def.inputs.size()));
    def.inputs.push_back(slot);
  }
  def.inputs.emplace_back("gradient");
  def.inputs.emplace_back("learning_rate");
  return def;
}

absl::StatusOr<std::vector<TensorType>> InferUpdate(
    const InferContext& node, const std::vector<std::string>& inputs) {
  const TensorType& variable = node.inputs[0];
  RETURN_IF_ERROR(ExpectDType("variable", variable, DType::kFloat32));
  for (size_t i = 1; i < inputs.size(); ++i) {
    const std::string& name = inputs[i];
    if (name == "learning_rate") {
      RETURN_IF_ERROR(ExpectType(name, node.inputs[i], {}, "a number"));
    } else if (name == "beta_power") {
      RETURN_IF_ERROR(ExpectType(name, node.inputs[i], {.shape = {2}},
                                 "the powers of beta1 and beta2"));
    } else {
      RETURN_IF_ERROR(ExpectType(name, node.inputs[i], variable, "variable"));
    }
  }
  return std::vector{variable};
}

}  // namespace spillway
