// Initial values of the resident ops, Variable and Const, computed on the host.
//
// Deterministic: element i of a variable depends only on the seed, the
// variable's name and i (if it is orthogonal, on its shape as well). So two
// graphs that share a variable by name agree on its initial value, and no other
// variable changes it.
// Cost: O(elements); of orthogonal values, see executor/session/orthogonal.h.
// Large values are split among `threads` (null: the caller's alone), with
// bitwise identical results.
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

// Writes the initial value of output 0 of `node`, a Variable or a Const, to
// `out`, host memory of its size. Errors, with the node's name prepended:
// INVALID_ARGUMENT for another op or for attributes that CheckInitializer or
// CheckConstant refuses; UNIMPLEMENTED for 16-bit floats.
absl::Status FillResident(const Graph& graph, NodeId node, uint64_t seed,
                          void* out, HostThreads* threads = nullptr);

// Variable: attribute `initializer`, an object (none: zeros) with a `kind`:
//   zeros, ones, constant (value)
//   normal, truncated_normal (mean 0, stddev 1)
//   uniform (min, max; or scale, which means [-scale, scale))
//   variance_scaling (scale 1, mode fan_in | fan_out | fan_avg, distribution
//     truncated_normal | normal | uniform): variance scale / fan
//   orthogonal (scale 1.414, distribution uniform | normal): the matrix of the
//     first dimension by the others has orthogonal rows of the length scale or,
//     if it has more rows than columns, such columns; made from a matrix of
//     uniform (-1 to 1) or normal elements. 2 dimensions or more.
// Truncated: redrawn beyond two standard deviations. Random kinds require
// floating types. Fans come from the shape: filters [O, spatial..., I] have
// fan_in I * spatial and fan_out O * spatial; matrices [in, out] have fan_in in
// and fan_out out; for vectors and scalars both are the number of elements.
// Source: Glorot and Bengio, AISTATS 2010; He et al., ICCV 2015.
absl::Status CheckInitializer(const Attributes& attributes,
                              const TensorType& type);
absl::Status FillInitial(const Attributes& attributes, const TensorType& type,
                         uint64_t seed, std::string_view name, void* out,
                         HostThreads* threads = nullptr);

// Const: attribute `value` (a number or bool for all elements) or `values` (a
// flat list with one number per element), exactly one of them.
absl::Status CheckConstant(const Attributes& attributes,
                           const TensorType& type);
absl::Status FillConstant(const Attributes& attributes, const TensorType& type,
                          void* out, HostThreads* threads = nullptr);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_RESIDENT_VALUES_H_
