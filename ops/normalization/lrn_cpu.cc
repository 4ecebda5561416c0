// Processes one row of channels at a time, through three small buffers, so that
// a row may be overwritten by its result.
//
//   dx[c] = dy[c] s[c]^-beta - 2 alpha beta x[c] sum of t[j] over the window
//   t[j]  = dy[j] x[j] s[j]^(-beta-1)
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/storage.h"
#include "ops/normalization/lrn.h"

namespace spillway::ops {
namespace {

// The buffers of one thread: a row with zeros on both sides, as wide as the
// window's radius, and s and s^-beta of the row.
class Row {
 public:
  Row(const LrnAttributes& lrn, int64_t channels)
      : lrn_(lrn),
        channels_(channels),
        // A wider window than the whole row changes nothing.
        radius_(std::min(lrn.depth_radius, channels)),
        padded_(static_cast<size_t>(channels + 2 * radius_)),
        sums_(static_cast<size_t>(channels)),
        powers_(static_cast<size_t>(channels)) {}

  template <typename T>
  void Forward(const T* x, T* y) {
    Normalizers(x);
    for (int64_t c = 0; c < channels_; ++c) {
      y[c] = Store<T>(Load(x[c]) * powers_[At(c)]);
    }
  }

  template <typename T>
  void Backward(const T* dy, const T* x, T* dx) {
    Normalizers(x);
    float* t = padded_.data() + radius_;
    for (int64_t c = 0; c < channels_; ++c) {
      t[c] = Load(dy[c]) * Load(x[c]) * powers_[At(c)] / sums_[At(c)];
    }
    SumWindows();
    const auto factor = static_cast<float>(2 * lrn_.alpha * lrn_.beta);
    for (int64_t c = 0; c < channels_; ++c) {
      dx[c] = Store<T>(Load(dy[c]) * powers_[At(c)] -
                       factor * Load(x[c]) * sums_[At(c)]);
    }
  }

 private:
  static size_t At(int64_t c) { return static_cast<size_t>(c); }

  // sums_ = s and powers_ = s^-beta.
  template <typename T>
  void Normalizers(const T* x) {
    float* squares = padded_.data() + radius_;
    for (int64_t c = 0; c < channels_; ++c) {
      squares[c] = Load(x[c]) * Load(x[c]);
    }
    SumWindows();
    const auto bias = static_cast<float>(lrn_.bias);
    const auto alpha = static_cast<float>(lrn_.alpha);
    for (float& sum : sums_) sum = bias + alpha * sum;
    Powers();
  }

  // sums_[c] = sum of the padded row over the window around c.
  void SumWindows() {
    std::ranges::fill(sums_, 0.0F);
    for (int64_t offset = 0; offset <= 2 * radius_; ++offset) {
      const float* from = padded_.data() + offset;
      float* sums = sums_.data();
#pragma omp simd
      for (int64_t c = 0; c < channels_; ++c) sums[c] += from[c];
    }
  }

  // Square roots are many times faster than powers, and networks use these two
  // exponents.
  void Powers() {
    if (lrn_.beta == 0.75) {
      for (size_t c = 0; c < sums_.size(); ++c) {
        const float root = std::sqrt(sums_[c]);
        powers_[c] = 1 / (root * std::sqrt(root));
      }
    } else if (lrn_.beta == 0.5) {
      for (size_t c = 0; c < sums_.size(); ++c) {
        powers_[c] = 1 / std::sqrt(sums_[c]);
      }
    } else {
      const auto exponent = static_cast<float>(-lrn_.beta);
      for (size_t c = 0; c < sums_.size(); ++c) {
        powers_[c] = std::pow(sums_[c], exponent);
      }
    }
  }

  LrnAttributes lrn_;
  int64_t channels_;
  int64_t radius_;
  std::vector<float> padded_;
  std::vector<float> sums_;
  std::vector<float> powers_;
};

// Calls compute(context, row buffers, first element of the row) for every row.
template <typename Fn>
NewKernel RowKernel(const KernelRequest& node, Fn compute) {
  SPILLWAY_ASSIGN_OR_RETURN(const LrnAttributes lrn, ReadLrn(node.attributes));
  const TensorType& x = node.inputs[0];
  const int64_t channels = x.shape.dim(-1);
  const int64_t rows = x.num_elements() / channels;
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    ParallelFor(threads, rows, 4096 / channels + 1,
                [&](int64_t begin, int64_t end) {
                  Row row(lrn, channels);
                  for (int64_t i = begin; i < end; ++i) {
                    compute(context, row, i * channels);
                  }
                });
  });
}

}  // namespace

NewKernel LrnCpu(const KernelRequest& node) {
  return ForStorage(node.inputs[0], [&]<typename T>(T) {
    return RowKernel(
        node, [](const KernelContext& context, Row& row, int64_t at) {
          row.Forward(context.input<T>(0) + at, context.output<T>(0) + at);
        });
  });
}

NewKernel LrnGradCpu(const KernelRequest& node) {
  return ForStorage(node.inputs[0], [&]<typename T>(T) {
    return RowKernel(
        node, [](const KernelContext& context, Row& row, int64_t at) {
          row.Backward(context.input<T>(0) + at, context.input<T>(1) + at,
                       context.output<T>(0) + at);
        });
  });
}

}  // namespace spillway::ops
