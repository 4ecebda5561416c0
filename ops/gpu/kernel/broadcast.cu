#include "ops/common/choice_functions.h"
#include "ops/gpu/kernel/broadcast.h"
#include "ops/gpu/kernel/elementwise.cuh"
#include "ops/gpu/thread/divide.cuh"
#include "ops/gpu/thread/pack.cuh"
#include "ops/gpu/thread/repeated_places.cuh"

namespace spillway::gpu {
namespace {

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct AddRelu {
  __device__ float operator()(float a, float b) const {
    const float sum = a + b;
    return sum < 0 ? 0.0F : sum;
  }
};
struct DivideBy {
  __device__ float operator()(float a, float b) const { return a / b; }
};
struct Multiply {
  __device__ float operator()(float a, float b) const { return a * b; }
};
struct Power {
  __device__ float operator()(float a, float b) const { return powf(a, b); }
};
struct Subtract {
  __device__ float operator()(float a, float b) const { return a - b; }
};

struct ScaleBy {
  float factor = 1;
  __device__ float operator()(float x) const { return factor * x; }
};

// fn(a, *b), as a function of a alone.
template <typename Fn, typename B>
struct WithScalar {
  Fn fn;
  const B* b;
  __device__ float operator()(float a) const { return fn(a, Load(*b)); }
};

// y[r, c] = fn(a[r, c], b[r]), for n packs, `width` per row.
template <int kSize, typename T, typename B, typename Fn>
__global__ void RowKernel(Fn fn, int64_t n, int64_t width, const T* a,
                          const B* b, T* y) {
  struct Loaded {
    Pack<T, kSize> pack;
    B of_row;
  };
  const auto load = [&](int64_t i) -> Loaded {
    return {PacksOf<kSize>(a)[i], b[Divide(i, width)]};
  };
  ForEachItem<kVectorsAtOnce>(n, load, [&](int64_t i, Loaded loaded) {
    for (T& item : loaded.pack.items) {
      item = Store<T>(fn(Load(item), Load(loaded.of_row)));
    }
    PacksOf<kSize>(y)[i] = loaded.pack;
  });
}

// y[r, c] = fn(a[r, c], b[c]), likewise.
template <int kSize, typename T, typename B, typename Fn>
__global__ void ColumnKernel(Fn fn, int64_t n, int64_t width, const T* a,
                             const B* b, T* y) {
  struct Loaded {
    Pack<T, kSize> pack;
    Pack<B, kSize> of_columns;
  };
  const auto load = [&](int64_t i) -> Loaded {
    return {PacksOf<kSize>(a)[i], PacksOf<kSize>(b)[Remainder(i, width)]};
  };
  ForEachItem<kVectorsAtOnce>(n, load, [&](int64_t i, Loaded loaded) {
    for (int k = 0; k < kSize; ++k) {
      T& item = loaded.pack.items[k];
      item = Store<T>(fn(Load(item), Load(loaded.of_columns.items[k])));
    }
    PacksOf<kSize>(y)[i] = loaded.pack;
  });
}

template <int kSize, typename T, typename B, typename Fn>
LaunchError LaunchPacks(StreamHandle stream, Fn fn, const Broadcast& broadcast,
                        const T* a, const B* b, T* y) {
  const int64_t width = broadcast.columns / kSize;
  const int64_t n = broadcast.rows * width;
  const auto kernel = broadcast.b_has_one_for == OneFor::kRow
                          ? RowKernel<kSize, T, B, Fn>
                          : ColumnKernel<kSize, T, B, Fn>;
  return Launch(stream, kernel, dim3(BlocksFor(n, kVectorsAtOnce)),
                dim3(kThreads), fn, n, width, a, b, y);
}

template <typename T, typename B, typename Fn>
LaunchError LaunchRowsOrColumns(StreamHandle stream, Fn fn,
                                const Broadcast& broadcast, const T* a,
                                const B* b, T* y) {
  constexpr int kSize = Vector<T>::kSize;
  if (broadcast.columns % kSize == 0) {
    return LaunchPacks<kSize>(stream, fn, broadcast, a, b, y);
  }
  return LaunchPacks<1>(stream, fn, broadcast, a, b, y);
}

template <typename Fn>
LaunchError LaunchBroadcast(StreamHandle stream, Fn fn,
                            const Broadcast& broadcast, const void* a,
                            const void* b, void* y) {
  const DType dtype = broadcast.dtype;
  const int64_t n = broadcast.rows * broadcast.columns;
  if (broadcast.b_has_one_for == OneFor::kElement) {
    return LaunchMap(stream, fn, dtype, n, y, a, b);
  }
  if (broadcast.b_has_one_for == OneFor::kAll) {
    return ForStorage(dtype, [&]<typename T>(T) {
      const WithScalar<Fn, T> with_b = {fn, static_cast<const T*>(b)};
      return LaunchMapOf<T>(stream, with_b, n, y, a);
    });
  }
  return ForTwoStorages(dtype, broadcast.b_dtype,
                        [&]<typename T, typename B>(T, B) {
                          return LaunchRowsOrColumns(
                              stream, fn, broadcast, static_cast<const T*>(a),
                              static_cast<const B*>(b), static_cast<T*>(y));
                        });
}

template <typename T, typename Fn>
__global__ void RepeatedKernel(Fn fn, RepeatedDims dims, const T* a, const T* b,
                               T* y) {
  ForEachItem(dims.n, [&](int64_t i) {
    const RepeatedPlaces<2> places = PlacesOf<2>(dims, i);
    y[i] = Store<T>(fn(Load(a[places.of[0]]), Load(b[places.of[1]])));
  });
}

template <typename Fn>
LaunchError LaunchRepeated(StreamHandle stream, Fn fn, DType dtype,
                           const RepeatedDims& dims, const void* a,
                           const void* b, void* y) {
  return ForStorage(dtype, [&]<typename T>(T) {
    return Launch(stream, RepeatedKernel<T, Fn>, dim3(BlocksFor(dims.n)),
                  dim3(kThreads), fn, dims, static_cast<const T*>(a),
                  static_cast<const T*>(b), static_cast<T*>(y));
  });
}

template <typename Launcher>
LaunchError WithFunction(BroadcastFunction function, const Launcher& launch) {
  switch (function) {
    case BroadcastFunction::kAdd:
      return launch(Add());
    case BroadcastFunction::kAddRelu:
      return launch(AddRelu());
    case BroadcastFunction::kDivide:
      return launch(DivideBy());
    case BroadcastFunction::kGreaterShare:
      return launch(choice::GreaterShare());
    case BroadcastFunction::kMaximum:
      return launch(choice::Larger());
    case BroadcastFunction::kMinimum:
      return launch(choice::Smaller());
    case BroadcastFunction::kMultiply:
      return launch(Multiply());
    case BroadcastFunction::kPower:
      return launch(Power());
    case BroadcastFunction::kSubtract:
      return launch(Subtract());
  }
  return 0;
}

}  // namespace

LaunchError RunRepeatedBroadcast(StreamHandle stream,
                                 BroadcastFunction function, DType dtype,
                                 const RepeatedDims& dims, const void* a,
                                 const void* b, void* y) {
  return WithFunction(function, [&](auto fn) {
    return LaunchRepeated(stream, fn, dtype, dims, a, b, y);
  });
}

LaunchError RunBroadcast(StreamHandle stream, const Broadcast& broadcast,
                         const void* a, const void* b, void* y) {
  return WithFunction(broadcast.function, [&](auto fn) {
    return LaunchBroadcast(stream, fn, broadcast, a, b, y);
  });
}

LaunchError Scale(StreamHandle stream, DType dtype, float factor, const void* x,
                  void* y, int64_t n) {
  return LaunchMap(stream, ScaleBy{factor}, dtype, n, y, x);
}

}  // namespace spillway::gpu
