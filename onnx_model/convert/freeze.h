// Which variables are not trained: regular expressions over the names of
// initializers.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_FREEZE_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_FREEZE_H_

#include <regex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace spillway::onnx_model {

class FrozenNames {
 public:
  // Errors: INVALID_ARGUMENT for both at once, or naming an expression that is
  // none.
  static absl::StatusOr<FrozenNames> Make(
      const std::vector<std::string>& freeze,
      const std::vector<std::string>& train_only);

  // Errors: INVALID_ARGUMENT for a name of more than 4096 characters (matching
  // takes stack for each).
  absl::StatusOr<bool> IsFrozen(const std::string& name) const;

  // For all trainable names of a model. Errors: INVALID_ARGUMENT naming an
  // expression that finds none of them, or if nothing is left to train.
  absl::Status CheckFinds(const std::vector<std::string>& names) const;

 private:
  struct Expression {
    std::string text = {};
    std::regex regex = {};
  };

  bool is_complement_ = false;  // train_only
  std::vector<Expression> expressions_;
};

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_FREEZE_H_
