#include "ops/all_ops.h"

#include <utility>
#include <vector>

#include "executor/device/cuda/cuda_backend.h"
#include "ops/array/constant.h"
#include "ops/array/gather.h"
#include "ops/array/identity.h"
#include "ops/array/layout.h"
#include "ops/array/placeholder.h"
#include "ops/array/reshape.h"
#include "ops/array/swap.h"
#include "ops/array/variable.h"
#include "ops/choice/compare.h"
#include "ops/choice/select.h"
#include "ops/collective/all_reduce.h"
#include "ops/collective/sparse_all_reduce.h"
#include "ops/cpu/onednn.h"
#include "ops/linear/batch_matmul.h"
#include "ops/linear/conv.h"
#include "ops/linear/conv_transpose.h"
#include "ops/linear/matmul.h"
#include "ops/loss/classify.h"
#include "ops/loss/softmax_cross_entropy.h"
#include "ops/normalization/batch_norm.h"
#include "ops/normalization/group_norm.h"
#include "ops/normalization/lrn.h"
#include "ops/normalization/softmax.h"
#include "ops/op.h"
#include "ops/pointwise/activation.h"
#include "ops/pointwise/add.h"
#include "ops/pointwise/add_n.h"
#include "ops/pointwise/bias_add.h"
#include "ops/pointwise/cast.h"
#include "ops/pointwise/dropout.h"
#include "ops/pointwise/scale_rows.h"
#include "ops/pointwise/unary.h"
#include "ops/reduction/pool.h"
#include "ops/reduction/reduce.h"
#include "ops/update/accumulate_gradient.h"
#include "ops/update/assign_add.h"
#include "ops/update/clip_gradient.h"
#include "ops/update/optimizer_updates.h"

namespace spillway {
namespace {

// Sorted by name, without the functions of ops/pointwise/unary.h.
// clang-format off
std::vector<Op> NamedOps() {
  return {
      ops::AccumulateGradient(),
      ops::Add(),
      ops::AddN(),
      ops::AllReduce(),
      ops::AllReduceInTurn(),
      ops::ApplyAdagrad(),
      ops::ApplyAdam(),
      ops::ApplyGradientDescent(),
      ops::ApplyLars(),
      ops::ApplyMomentum(),
      ops::ApplyRMSProp(),
      ops::ApplyVelocity(),
      ops::ArgMax(),
      ops::AssignAdd(),
      ops::AvgPool(),
      ops::AvgPool3D(),
      ops::AvgPool3DGrad(),
      ops::AvgPoolGrad(),
      ops::BatchMatMul(),
      ops::BatchNormApply(),
      ops::BiasAdd(),
      ops::BiasAddGrad(),
      ops::BroadcastTo(),
      ops::Cast(),
      ops::ClipByValue(),
      ops::Concat(),
      ops::ConcatInto(),
      ops::Const(),
      ops::Conv2D(),
      ops::Conv2DBackpropFilter(),
      ops::Conv2DBackpropInput(),
      ops::Conv2DTranspose(),
      ops::Conv3D(),
      ops::Conv3DBackpropFilter(),
      ops::Conv3DBackpropInput(),
      ops::Conv3DTranspose(),
      ops::CopyToDevice(),
      ops::CopyToHost(),
      ops::Dropout(),
      ops::DropoutGrad(),
      ops::Elu(),
      ops::EluGrad(),
      ops::Equal(),
      ops::ErrorFeedbackAllReduce(),
      ops::FusedBatchNorm(),
      ops::FusedBatchNormGrad(),
      ops::Gather(),
      ops::GatherGrad(),
      ops::GreaterShare(),
      ops::GroupNorm(),
      ops::GroupNormGrad(),
      ops::Identity(),
      ops::InTopK(),
      ops::LRN(),
      ops::LRNGrad(),
      ops::LayerNorm(),
      ops::LayerNormGrad(),
      ops::Less(),
      ops::LessEqual(),
      ops::LogicalAnd(),
      ops::LogicalOr(),
      ops::LogicalXor(),
      ops::MatMul(),
      ops::Max(),
      ops::MaxPool(),
      ops::MaxPool3D(),
      ops::MaxPool3DGrad(),
      ops::MaxPoolGrad(),
      ops::Maximum(),
      ops::Mean(),
      ops::MeanGrad(),
      ops::Min(),
      ops::Minimum(),
      ops::Mul(),
      ops::NormFactor(),
      ops::Pad(),
      ops::Placeholder(),
      ops::Pow(),
      ops::Prod(),
      ops::RealDiv(),
      ops::Relu(),
      ops::Relu6(),
      ops::Relu6Grad(),
      ops::ReluGrad(),
      ops::Reshape(),
      ops::ScaleRows(),
      ops::Select(),
      ops::Sigmoid(),
      ops::SigmoidGrad(),
      ops::Slice(),
      ops::Softmax(),
      ops::SoftmaxGrad(),
      ops::SparseAllReduce(),
      ops::SparseSoftmaxCrossEntropyWithLogits(),
      ops::SquareSum(),
      ops::Sub(),
      ops::Sum(),
      ops::SumGrad(),
      ops::SwapIn(),
      ops::SwapOut(),
      ops::Tanh(),
      ops::TanhGrad(),
      ops::Transpose(),
      ops::TruncateDiv(),
      ops::Variable(),
  };
}
// clang-format on

std::vector<Op> AllOps() {
  std::vector<Op> ops = NamedOps();
  for (Op& op : ops::UnaryOps()) ops.push_back(std::move(op));
  return ops;
}

OpRegistry MakeRegistry() {
  OpRegistry registry;
  for (Op& op : AllOps()) registry.Add(std::move(op.def));
  return registry;
}

KernelRegistry MakeKernels() {
  KernelRegistry registry;
  for (const Op& op : AllOps()) {
    for (const auto& [kind, factory] : op.kernels) {
      registry.Add(op.def.name, kind, factory);
    }
  }
  if (const CudaBackend* backend = LinkedCudaBackend()) {
    backend->add_kernels(registry);
  }
  return registry;
}

}  // namespace

const OpRegistry& StandardOps() {
  static const OpRegistry kRegistry = MakeRegistry();
  return kRegistry;
}

const KernelRegistry& StandardKernels() {
  static const KernelRegistry kRegistry = MakeKernels();
  return kRegistry;
}

absl::StatusOr<std::string> KernelLibraries(DeviceKind kind) {
  if (kind == DeviceKind::kCpu) return "oneDNN " + OneDnnVersion();
  const CudaBackend* backend = LinkedCudaBackend();
  return backend == nullptr ? NoCudaBackend() : backend->libraries();
}

}  // namespace spillway
