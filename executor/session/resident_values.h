// First values of the resident ops, Variable and Const, computed on the host.
//
// Deterministic: element i of a variable depends on the seed, the variable's
// name and i only, so two graphs that share a variable by name agree on its
// first value, and no other variable changes it.
// Cost: O(elements); large values are shared out among `threads` (null: the
// caller's alone), which changes no bit.
#ifndef SPILLWAY_EXECUTOR_SESSION_RESIDENT_VALUES_H_
#define SPILLWAY_EXECUTOR_SESSION_RESIDENT_VALUES_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "executor/host_threads.h"
#include "graph/attributes.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"

namespace spillway {

// Writes the first value of output 0 of `node`, a Variable or a Const, to
// `out`, host memory of its size. Errors, with the node's name before them:
// INVALID_ARGUMENT for another op or for attributes that CheckInitializer or
// CheckConstant refuses; UNIMPLEMENTED for 16-bit floats.
absl::Status FillResident(const Graph& graph, NodeId node, uint64_t seed,
                          void* out, HostThreads* threads = nullptr);

// Variable: attribute `initializer`, an object (none: zeros) with a `kind`:
//   zeros, ones, constant (value)
//   normal, truncated_normal (mean 0, stddev 1)
//   uniform (min, max; or scale, which means [-scale, scale))
//   variance_scaling (scale 1, mode fan_in | fan_out | fan_avg, distribution
//     truncated_normal | normal | uniform): variance scale / fan.
// Truncated: redrawn beyond two standard deviations. Random kinds are for
// floating types only. Fans come from the shape: filters [O, spatial..., I]
// have fan_in I * spatial and fan_out O * spatial, matrices [in, out] these
// two, and of vectors and scalars both are the number of elements. Source:
// Glorot and Bengio, AISTATS 2010; He et al., ICCV 2015.
absl::Status CheckInitializer(const Attributes& attributes,
                              const TensorType& type);
absl::Status FillInitial(const Attributes& attributes, const TensorType& type,
                         uint64_t seed, std::string_view name, void* out,
                         HostThreads* threads = nullptr);

// Const: attribute `value` (a number or bool that fills) or `values` (a flat
// list of as many numbers as the type has elements), exactly one of them.
absl::Status CheckConstant(const Attributes& attributes,
                           const TensorType& type);
absl::Status FillConstant(const Attributes& attributes, const TensorType& type,
                          void* out, HostThreads* threads = nullptr);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_RESIDENT_VALUES_H_
