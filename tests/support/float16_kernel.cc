#include "tests/support/float16_kernel.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/float16.h"
#include "base/status_macros.h"

namespace spillway::testing {
namespace {

std::vector<TensorType> Wide(std::span<const TensorType> types) {
  std::vector<TensorType> wide(types.begin(), types.end());
  for (TensorType& type : wide) {
    if (type.dtype == DType::kFloat16) type.dtype = DType::kFloat32;
  }
  return wide;
}

class Float16Kernel final : public Kernel {
 public:
  Float16Kernel(const KernelRequest& node, std::unique_ptr<Kernel> in_float32)
      : inputs_(node.inputs.begin(), node.inputs.end()),
        outputs_(node.outputs.begin(), node.outputs.end()),
        in_float32_(std::move(in_float32)) {}

  int64_t workspace_bytes() const override {
    return in_float32_->workspace_bytes();
  }

  absl::Status Run(const KernelContext& context) override {
    Copies inputs = CopiesOf(inputs_, context.inputs);
    Copies outputs = CopiesOf(outputs_, context.outputs);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto* narrow = static_cast<const Float16*>(context.inputs[i]);
      for (size_t k = 0; k < inputs.wide[i].size(); ++k) {
        inputs.wide[i][k] = ToFloat(narrow[k]);
      }
    }
    KernelContext own = context;
    own.inputs = inputs.pointers;
    own.outputs = outputs.pointers;
    SPILLWAY_RETURN_IF_ERROR(in_float32_->Run(own));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      auto* narrow = static_cast<Float16*>(context.outputs[i]);
      for (size_t k = 0; k < outputs.wide[i].size(); ++k) {
        narrow[k] = ToFloat16(outputs.wide[i][k]);
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Copies {
    std::vector<std::vector<float>> wide = {};  // empty: no copy is needed
    std::vector<void*> pointers = {};
  };

  static Copies CopiesOf(const std::vector<TensorType>& types,
                         std::span<void* const> originals) {
    Copies copies;
    copies.wide.resize(types.size());
    for (size_t i = 0; i < types.size(); ++i) {
      const bool is_narrow = types[i].dtype == DType::kFloat16;
      if (is_narrow) {
        copies.wide[i].resize(static_cast<size_t>(types[i].num_elements()));
      }
      copies.pointers.push_back(is_narrow ? copies.wide[i].data()
                                          : originals[i]);
    }
    return copies;
  }

  const std::vector<TensorType> inputs_;
  const std::vector<TensorType> outputs_;
  const std::unique_ptr<Kernel> in_float32_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> PrepareWithFloat16(
    KernelFactory factory, const KernelRequest& node) {
  const std::vector<TensorType> inputs = Wide(node.inputs);
  const std::vector<TensorType> outputs = Wide(node.outputs);
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel,
                            factory({.attributes = node.attributes,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .threads = node.threads}));
  if (std::ranges::equal(inputs, node.inputs) &&
      std::ranges::equal(outputs, node.outputs)) {
    return kernel;
  }
  return std::make_unique<Float16Kernel>(node, std::move(kernel));
}

}  // namespace spillway::testing
