#include "ops/common/one_of.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "ops/common/algorithm_named.h"

namespace spillway {
namespace {

class OneOfKernel final : public Kernel {
 public:
  OneOfKernel(std::vector<Alternative> alternatives, size_t chosen,
              std::unique_ptr<Kernel> kernel)
      : alternatives_(std::move(alternatives)),
        chosen_(chosen),
        kernel_(std::move(kernel)) {}

  absl::StatusOr<std::vector<KernelAlgorithm>> ListAlgorithms() override {
    std::vector<KernelAlgorithm> listed;
    for (const auto& [algorithm, make] : alternatives_) {
      const NewKernel kernel = make();
      if (absl::IsUnimplemented(kernel.status())) continue;
      SPILLWAY_RETURN_IF_ERROR(kernel.status());
      listed.push_back(
          {.name = algorithm, .workspace_bytes = (*kernel)->workspace_bytes()});
    }
    return listed;
  }
  std::string_view algorithm() const override {
    return alternatives_[chosen_].algorithm;
  }
  int64_t workspace_bytes() const override {
    return kernel_->workspace_bytes();
  }
  absl::Status Run(const KernelContext& context) override {
    return kernel_->Run(context);
  }

 private:
  const std::vector<Alternative> alternatives_;
  const size_t chosen_;
  const std::unique_ptr<Kernel> kernel_;
};

}  // namespace

NewKernel MakeOneOf(std::vector<Alternative> alternatives,
                    std::string_view wanted) {
  SPILLWAY_CHECK(!alternatives.empty());
  std::vector<KernelAlgorithm> names;
  for (const Alternative& each : alternatives) {
    names.push_back({.name = each.algorithm});
  }
  SPILLWAY_ASSIGN_OR_RETURN(const size_t chosen, AlgorithmNamed(wanted, names));
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel,
                            alternatives[chosen].make());
  if (alternatives.size() == 1) return kernel;
  return std::make_unique<OneOfKernel>(std::move(alternatives), chosen,
                                       std::move(kernel));
}

}  // namespace spillway
