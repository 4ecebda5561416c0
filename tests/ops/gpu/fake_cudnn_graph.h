// The meaning of the descriptors of the fake cuDNN's graph API: a graph of one
// convolution or its gradient, the engines that heuristics suggest for it,
// plans, and their execution from the descriptors alone.
//
// Refuses: missing attributes; tensors that are not channels last; shapes that
// do not fit; anything except a plain convolution in float32; a variant pack
// without exactly the tensors of the graph.
#ifndef SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_GRAPH_H_
#define SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_GRAPH_H_

#include <cudnn.h>

namespace spillway::testing {

cudnnStatus_t FinalizeFakeBackend(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t ExecuteFakePlan(cudnnHandle_t handle,
                              cudnnBackendDescriptor_t plan,
                              cudnnBackendDescriptor_t variant_pack);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_GRAPH_H_
