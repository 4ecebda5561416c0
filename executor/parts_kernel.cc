#include "executor/parts_kernel.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/plan.h"
#include "graph/parts.h"

namespace spillway {
namespace {

class KernelOfParts : public Kernel {
 public:
  // `own_bytes`: workspace before that of `kernel`.
  KernelOfParts(std::unique_ptr<Kernel> kernel, int64_t own_bytes)
      : kernel_(std::move(kernel)), own_bytes_(own_bytes) {}

  absl::StatusOr<std::vector<KernelAlgorithm>> ListAlgorithms() override {
    SPILLWAY_ASSIGN_OR_RETURN(std::vector<KernelAlgorithm> algorithms,
                              kernel_->ListAlgorithms());
    for (KernelAlgorithm& algorithm : algorithms) {
      algorithm.workspace_bytes += own_bytes_;
    }
    return algorithms;
  }
  std::string_view algorithm() const override { return kernel_->algorithm(); }
  int64_t workspace_bytes() const override {
    return own_bytes_ + kernel_->workspace_bytes();
  }

 protected:
  absl::Status RunWith(KernelContext context, std::span<void* const> inputs) {
    context.inputs = inputs;
    context.workspace = static_cast<std::byte*>(context.workspace) + own_bytes_;
    return kernel_->Run(context);
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const int64_t own_bytes_;
};

// Its kernel reads rows at a distance.
class KernelOfRows final : public KernelOfParts {
 public:
  // `offsets`: by input, in bytes.
  KernelOfRows(std::unique_ptr<Kernel> kernel, std::vector<int64_t> offsets)
      : KernelOfParts(std::move(kernel), 0), offsets_(std::move(offsets)) {}

  absl::Status Run(const KernelContext& context) override {
    std::vector<void*> inputs(context.inputs.begin(), context.inputs.end());
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = static_cast<std::byte*>(inputs[i]) + offsets_[i];
    }
    return RunWith(context, inputs);
  }

 private:
  const std::vector<int64_t> offsets_;
};

// A part that is copied to this place in the workspace.
struct PartCopy {
  size_t input = 0;
  int64_t place = 0;  // bytes
  std::unique_ptr<Kernel> kernel = {};
};

class KernelOfCopies final : public KernelOfParts {
 public:
  KernelOfCopies(std::unique_ptr<Kernel> kernel, int64_t own_bytes,
                 std::vector<PartCopy> copies)
      : KernelOfParts(std::move(kernel), own_bytes),
        copies_(std::move(copies)) {}

  absl::Status Run(const KernelContext& context) override {
    std::vector<void*> inputs(context.inputs.begin(), context.inputs.end());
    for (const PartCopy& copy : copies_) {
      KernelContext own = context;
      const std::array<void*, 1> from = {inputs[copy.input]};
      const std::array<void*, 1> to = {
          static_cast<std::byte*>(context.workspace) + copy.place};
      own.inputs = from;
      own.outputs = to;
      SPILLWAY_RETURN_IF_ERROR(copy.kernel->Run(own));
      inputs[copy.input] = to[0];
    }
    return RunWith(context, inputs);
  }

 private:
  const std::vector<PartCopy> copies_;
};

using NewKernel = absl::StatusOr<std::unique_ptr<Kernel>>;

// The types of the values of which a node reads parts.
struct PartsOfValues {
  std::vector<InputPart> parts = {};
  std::span<const TensorType> values = {};  // by input
};

NewKernel PrepareRows(KernelRequest node, KernelFactory factory,
                      const PartsOfValues& read) {
  std::vector<int64_t> offsets(node.inputs.size(), 0);
  std::vector<int64_t> strides;
  for (const TensorType& value : read.values) {
    strides.push_back(value.shape.rank() == 0 ? 1 : value.shape.dim(-1));
  }
  for (const InputPart& part : read.parts) {
    const auto input = static_cast<size_t>(part.input);
    offsets[input] = part.begin * SizeOf(node.inputs[input].dtype);
  }
  node.row_strides = strides;
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, factory(node));
  if (kernel == nullptr) return nullptr;
  return std::make_unique<KernelOfRows>(std::move(kernel), std::move(offsets));
}

NewKernel PrepareCopy(const KernelRequest& node, const InputPart& part,
                      const PartsOfValues& read, KernelFactory slice) {
  const auto input = static_cast<size_t>(part.input);
  const Shape& shape = node.inputs[input].shape;
  std::vector<int64_t> begin(static_cast<size_t>(shape.rank()), 0);
  begin.back() = part.begin;
  const Attributes attributes = {{"begin", begin}, {"size", shape}};
  return slice({.attributes = attributes,
                .inputs = read.values.subspan(input, 1),
                .outputs = node.inputs.subspan(input, 1),
                .threads = node.threads,
                .math = node.math});
}

NewKernel PrepareCopies(const KernelRequest& node, KernelFactory factory,
                        const PartsOfValues& read, KernelFactory slice) {
  std::vector<PartCopy> copies;
  int64_t own_bytes = 0;
  for (const InputPart& part : read.parts) {
    PartCopy& copy = copies.emplace_back();
    copy.input = static_cast<size_t>(part.input);
    copy.place = own_bytes;
    SPILLWAY_ASSIGN_OR_RETURN(copy.kernel,
                              PrepareCopy(node, part, read, slice));
    own_bytes += AlignUp(node.inputs[copy.input].num_bytes(), kBufferAlignment);
  }
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, factory(node));
  if (kernel == nullptr) return nullptr;
  return std::make_unique<KernelOfCopies>(std::move(kernel), own_bytes,
                                          std::move(copies));
}

}  // namespace

NewKernel PrepareFromFactory(const OpDef& op, KernelRequest node,
                             KernelFactory factory, KernelFactory slice) {
  PartsOfValues read = {.values = node.inputs};
  SPILLWAY_ASSIGN_OR_RETURN(read.parts, PartsOf(op, node.attributes));
  if (read.parts.empty()) return factory(node);
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<TensorType> types,
                            WithParts(op, node.attributes, node.inputs));
  node.inputs = types;
  return slice == nullptr ? PrepareRows(node, factory, read)
                          : PrepareCopies(node, factory, read, slice);
}

}  // namespace spillway
