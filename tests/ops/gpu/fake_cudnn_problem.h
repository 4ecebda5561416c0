// The contents of the fake cuDNN's descriptors, and the convolution that they
// describe.
#ifndef SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_PROBLEM_H_
#define SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_PROBLEM_H_

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "graph/shape.h"
#include "tests/ops/cases/multi_index.h"
#include "tests/ops/gpu/fake_library.h"

// The targets of handles and descriptors; dimensions are N C spatial... and O I
// spatial... .
struct cudnnContext {
  int number = 0;
  cudaStream_t stream = nullptr;
};

struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int64_t> dims = {};
  std::vector<int64_t> strides = {};
};

struct cudnnFilterStruct : cudnnTensorStruct {};

struct cudnnConvolutionStruct {
  std::vector<int64_t> pads = {};
  std::vector<int64_t> strides = {};
  std::vector<int64_t> dilations = {};
  int64_t groups = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

namespace spillway::testing {

// The strides of the dimensions N C spatial... of a channels-last tensor.
inline std::vector<int64_t> ChannelsLastStrides(
    const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  int64_t stride = dims[1];
  for (size_t axis = dims.size() - 1; axis >= 2; --axis) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  strides[0] = stride;
  return strides;
}

inline DType ElementType(const cudnnTensorStruct& tensor) {
  switch (tensor.type) {
    case CUDNN_DATA_BFLOAT16:
      return DType::kBFloat16;
    case CUDNN_DATA_HALF:
      return DType::kFloat16;
    default:
      return DType::kFloat32;
  }
}

inline bool IsGood(const cudnnTensorStruct& tensor) {
  bool positive = true;
  for (const int64_t dim : tensor.dims) positive = positive && dim > 0;
  return positive && (tensor.dims.size() == 4 || tensor.dims.size() == 5) &&
         (tensor.type == CUDNN_DATA_FLOAT ||
          tensor.type == CUDNN_DATA_BFLOAT16 ||
          tensor.type == CUDNN_DATA_HALF) &&
         tensor.strides == ChannelsLastStrides(tensor.dims);
}

// The descriptors of a convolution, for every direction.
struct FakeProblem {
  cudnnTensorStruct x;
  cudnnFilterStruct filter;
  cudnnConvolutionStruct conv;
  cudnnTensorStruct y;

  size_t spatial() const { return conv.pads.size(); }
};

// The required size of y.
inline int64_t OutputSize(const FakeProblem& p, size_t axis) {
  const int64_t extent =
      (p.filter.dims[axis + 2] - 1) * p.conv.dilations[axis] + 1;
  const int64_t padded = p.x.dims[axis + 2] + 2 * p.conv.pads[axis];
  return padded < extent ? 0 : (padded - extent) / p.conv.strides[axis] + 1;
}

// Checks the shapes, and the dtypes of x and y.
inline bool Fit(const FakeProblem& p) {
  const size_t rank = p.spatial() + 2;
  if (p.x.dims.size() != rank || p.filter.dims.size() != rank ||
      p.y.dims.size() != rank || p.x.type != p.y.type) {
    return false;
  }
  for (size_t axis = 0; axis < p.spatial(); ++axis) {
    if (p.y.dims[axis + 2] != OutputSize(p, axis)) return false;
  }
  return p.x.dims[0] == p.y.dims[0] &&
         p.x.dims[1] == p.filter.dims[1] * p.conv.groups &&
         p.y.dims[1] == p.filter.dims[0] && p.y.dims[1] % p.conv.groups == 0;
}

inline Shape SpatialOf(const cudnnTensorStruct& tensor) {
  return Shape(std::vector(tensor.dims.begin() + 2, tensor.dims.end()));
}

inline int64_t Offset(const cudnnTensorStruct& tensor, const Index& spatial) {
  return std::inner_product(spatial.begin(), spatial.end(),
                            tensor.strides.begin() + 2, int64_t{0});
}

// Finds the pixel of x for element `k` of the window over pixel `o`; false:
// outside.
inline bool FindPixel(const FakeProblem& p, const Index& o, const Index& k,
                      Index& pixel) {
  pixel.resize(o.size());
  for (size_t axis = 0; axis < o.size(); ++axis) {
    pixel[axis] = o[axis] * p.conv.strides[axis] - p.conv.pads[axis] +
                  k[axis] * p.conv.dilations[axis];
    if (pixel[axis] < 0 || pixel[axis] >= p.x.dims[axis + 2]) return false;
  }
  return true;
}

// Calls fn(x, filter, y), three indices, for the products of one element of the
// window over one pixel of y, for all images and channels.
template <typename Fn>
void ForEachChannel(const FakeProblem& p, int64_t x, int64_t filter, int64_t y,
                    const Fn& fn) {
  const int64_t of_group = p.filter.dims[0] / p.conv.groups;
  for (int64_t n = 0; n < p.x.dims[0]; ++n) {
    for (int64_t o = 0; o < p.filter.dims[0]; ++o) {
      for (int64_t i = 0; i < p.filter.dims[1]; ++i) {
        const int64_t channel = o / of_group * p.filter.dims[1] + i;
        fn(x + n * p.x.strides[0] + channel * p.x.strides[1],
           filter + o * p.filter.strides[0] + i * p.filter.strides[1],
           y + n * p.y.strides[0] + o * p.y.strides[1]);
      }
    }
  }
}

template <typename Fn>
void ForEachProduct(const FakeProblem& p, const Fn& fn) {
  Index pixel;
  for (const Index& o : AllIndices(SpatialOf(p.y))) {
    for (const Index& k : AllIndices(SpatialOf(p.filter))) {
      if (!FindPixel(p, o, k, pixel)) continue;
      ForEachChannel(p, Offset(p.x, pixel), Offset(p.filter, k), Offset(p.y, o),
                     fn);
    }
  }
}

inline std::vector<double> Read(const cudnnTensorStruct& tensor,
                                const void* data) {
  std::vector<double> elements;
  const int64_t n = tensor.strides[0] * tensor.dims[0];
  for (int64_t i = 0; i < n; ++i) {
    elements.push_back(ReadElement(data, i, ElementType(tensor)));
  }
  return elements;
}

inline std::vector<double> Zeros(const cudnnTensorStruct& tensor) {
  return std::vector<double>(
      static_cast<size_t>(tensor.strides[0] * tensor.dims[0]), 0);
}

inline void Write(const cudnnTensorStruct& tensor,
                  const std::vector<double>& elements, void* data) {
  for (size_t i = 0; i < elements.size(); ++i) {
    WriteElement(data, static_cast<int64_t>(i), ElementType(tensor),
                 elements[i]);
  }
}

inline size_t At(int64_t i) { return static_cast<size_t>(i); }

inline void ComputeForward(const FakeProblem& p, const void* x,
                           const void* filter, void* y) {
  const std::vector<double> from = Read(p.x, x);
  const std::vector<double> by = Read(p.filter, filter);
  std::vector<double> to = Zeros(p.y);
  ForEachProduct(p, [&](int64_t i, int64_t f, int64_t o) {
    to[At(o)] += from[At(i)] * by[At(f)];
  });
  Write(p.y, to, y);
}

inline void ComputeBackwardData(const FakeProblem& p, void* x,
                                const void* filter, const void* y) {
  const std::vector<double> from = Read(p.y, y);
  const std::vector<double> by = Read(p.filter, filter);
  std::vector<double> to = Zeros(p.x);
  ForEachProduct(p, [&](int64_t i, int64_t f, int64_t o) {
    to[At(i)] += from[At(o)] * by[At(f)];
  });
  Write(p.x, to, x);
}

inline void ComputeBackwardFilter(const FakeProblem& p, const void* x,
                                  void* filter, const void* y) {
  const std::vector<double> from = Read(p.x, x);
  const std::vector<double> by = Read(p.y, y);
  std::vector<double> to = Zeros(p.filter);
  ForEachProduct(p, [&](int64_t i, int64_t f, int64_t o) {
    to[At(f)] += from[At(i)] * by[At(o)];
  });
  Write(p.filter, to, filter);
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_FAKE_CUDNN_PROBLEM_H_
