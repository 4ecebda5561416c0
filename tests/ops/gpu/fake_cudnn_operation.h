// A convolution or its gradient in the fake cuDNN's graph API: the equivalent
// legacy descriptors, and its computation.
#ifndef SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_OPERATION_H_
#define SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_OPERATION_H_

#include <cudnn.h>

#include <cstdint>
#include <map>

#include "tests/ops/gpu/fake_cudnn_backend.h"
#include "tests/ops/gpu/fake_cudnn_problem.h"

namespace spillway::testing {

struct FakeOperand {
  cudnnTensorStruct tensor = {};
  int64_t uid = 0;
};

struct FakeOperation {
  cudnnBackendDescriptorType_t type = {};
  FakeOperand x = {};
  FakeOperand y = {};
  int64_t filter_uid = 0;
  cudnnFilterStruct filter = {};
  cudnnConvolutionStruct conv = {};

  FakeProblem problem() const { return {x.tensor, filter, conv, y.tensor}; }
};

// The operation of a complete descriptor.
FakeOperation OperationOf(const FakeBackend& backend);

// Whether complete descriptors may be finalized.
bool IsGoodTensor(const FakeBackend& tensor);
bool IsGoodConvolution(const FakeBackend& conv);
bool IsGoodOperation(const FakeBackend& operation);

// Whether `data`, by unique id, has exactly the operation's three tensors.
bool AreOperands(const FakeOperation& operation,
                 const std::map<int64_t, void*>& data);
void Compute(const FakeOperation& operation,
             const std::map<int64_t, void*>& data);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_OPERATION_H_
