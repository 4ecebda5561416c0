// A row is processed by a warp, or by a block if rows are long. Rows are read
// again from the cache rather than kept. The thread that read an element last
// writes it, so a row may be overwritten.
#include "ops/gpu/kernel/softmax.h"
#include "ops/gpu/thread/pack.cuh"
#include "ops/gpu/thread/pack_size.cuh"
#include "ops/gpu/thread/reduce.cuh"

namespace spillway::gpu {
namespace {

constexpr int64_t kMostOfWarp = 1024;  // elements of a row

// For a row: its maximum, and the sum of exp(x - maximum).
struct Exponentials {
  float most = 0;
  float sum = 0;
};

template <typename Group, int kCount, typename T>
__device__ Exponentials SumExponentials(int64_t columns, const T* x) {
  Exponentials row;
  row.most = Load(x[0]);
  ForEachOfRow<Group>(columns, [&](int64_t i) {
    const auto pack = PacksOf<kCount>(x)[i];
    for (int k = 0; k < kCount; ++k) {
      row.most = fmaxf(row.most, Load(pack.items[k]));
    }
  });
  row.most = Group::Reduce(row.most, Most());
  ForEachOfRow<Group>(columns, [&](int64_t i) {
    const auto pack = PacksOf<kCount>(x)[i];
    for (int k = 0; k < kCount; ++k) {
      row.sum += expf(Load(pack.items[k]) - row.most);
    }
  });
  row.sum = Group::Reduce(row.sum, Plus());
  return row;
}

template <typename Group, int kCount, typename T>
__global__ void SoftmaxKernel(Rows size, const T* xs, T* ys) {
  const int64_t columns = size.classes / kCount;
  ForEachRow<Group>(size.rows, [&](int64_t row) {
    const T* x = xs + row * size.classes;
    T* y = ys + row * size.classes;
    const Exponentials all = SumExponentials<Group, kCount>(columns, x);
    const float scale = 1 / all.sum;
    ForEachOfRow<Group>(columns, [&](int64_t i) {
      auto pack = PacksOf<kCount>(x)[i];
      for (int k = 0; k < kCount; ++k) {
        pack.items[k] = Store<T>(expf(Load(pack.items[k]) - all.most) * scale);
      }
      PacksOf<kCount>(y)[i] = pack;
    });
  });
}

template <typename Group, int kCount, typename T>
__global__ void SoftmaxGradKernel(Rows size, const T* dys, const T* ys,
                                  T* dxs) {
  const int64_t columns = size.classes / kCount;
  ForEachRow<Group>(size.rows, [&](int64_t row) {
    const T* dy = dys + row * size.classes;
    const T* y = ys + row * size.classes;
    float dot = 0;
    ForEachOfRow<Group>(columns, [&](int64_t i) {
      const auto of_dy = PacksOf<kCount>(dy)[i];
      const auto of_y = PacksOf<kCount>(y)[i];
      for (int k = 0; k < kCount; ++k) {
        dot += Load(of_dy.items[k]) * Load(of_y.items[k]);
      }
    });
    dot = Group::Reduce(dot, Plus());
    ForEachOfRow<Group>(columns, [&](int64_t i) {
      auto pack = PacksOf<kCount>(dy)[i];
      const auto of_y = PacksOf<kCount>(y)[i];
      for (int k = 0; k < kCount; ++k) {
        pack.items[k] =
            Store<T>((Load(pack.items[k]) - dot) * Load(of_y.items[k]));
      }
      PacksOf<kCount>(dxs + row * size.classes)[i] = pack;
    });
  });
}

// x is read before the first reduction, and written after the last.
template <typename Group, int kCount, typename T>
__global__ void CrossEntropyKernel(Rows size, const T* logits,
                                   const int32_t* labels, float* loss,
                                   T* backprop) {
  const int64_t columns = size.classes / kCount;
  ForEachRow<Group>(size.rows, [&](int64_t row) {
    const T* x = logits + row * size.classes;
    const int32_t label = labels[row];
    const bool is_class = label >= 0 && label < size.classes;
    const float of_label = is_class ? Load(x[label]) : NAN;
    const Exponentials all = SumExponentials<Group, kCount>(columns, x);
    const float scale = is_class ? 1 / all.sum : NAN;
    if (threadIdx.x % Group::kSize == 0) {
      loss[row] = logf(all.sum) - (of_label - all.most);
    }
    ForEachOfRow<Group>(columns, [&](int64_t i) {
      auto pack = PacksOf<kCount>(x)[i];
      for (int k = 0; k < kCount; ++k) {
        const float y = expf(Load(pack.items[k]) - all.most) * scale;
        pack.items[k] = Store<T>(i * kCount + k == label ? y - 1 : y);
      }
      PacksOf<kCount>(backprop + row * size.classes)[i] = pack;
    });
  });
}

// launch(T(), Count(), Group()): kernels for T, packs of Count::value elements
// and rows shared by Group.
template <typename Fn>
LaunchError ForRows(const Rows& size, const Fn& launch) {
  return ForPacks(
      size.dtype, size.classes, [&]<typename T, typename Count>(T, Count) {
        return size.classes <= kMostOfWarp ? launch(T(), Count(), WarpOfRow())
                                           : launch(T(), Count(), BlockOfRow());
      });
}

template <typename Group>
dim3 BlocksOf(const Rows& size) {
  return {BlocksFor(size.rows * Group::kSize)};
}

}  // namespace

LaunchError Softmax(StreamHandle stream, const Rows& size, const void* x,
                    void* y) {
  return ForRows(size, [&]<typename T, typename C, typename G>(T, C, G) {
    return Launch(stream, SoftmaxKernel<G, C::value, T>, BlocksOf<G>(size),
                  dim3(kThreads), size, static_cast<const T*>(x),
                  static_cast<T*>(y));
  });
}

LaunchError SoftmaxGrad(StreamHandle stream, const Rows& size, const void* dy,
                        const void* y, void* dx) {
  return ForRows(size, [&]<typename T, typename C, typename G>(T, C, G) {
    return Launch(stream, SoftmaxGradKernel<G, C::value, T>, BlocksOf<G>(size),
                  dim3(kThreads), size, static_cast<const T*>(dy),
                  static_cast<const T*>(y), static_cast<T*>(dx));
  });
}

LaunchError CrossEntropy(StreamHandle stream, const Rows& size,
                         const CrossEntropyTensors& tensors) {
  return ForRows(size, [&]<typename T, typename C, typename G>(T, C, G) {
    return Launch(stream, CrossEntropyKernel<G, C::value, T>, BlocksOf<G>(size),
                  dim3(kThreads), size, static_cast<const T*>(tensors.logits),
                  tensors.labels, tensors.loss,
                  static_cast<T*>(tensors.backprop));
  });
}

}  // namespace spillway::gpu
