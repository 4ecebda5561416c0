// A task normalises whole groups of one sample, all rows of some adjacent
// channels: it sums each channel over the rows, and then the channels of each
// group. The tasks depend on the sizes only, and so do all sums.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/storage.h"
#include "ops/normalization/group_norm.h"

namespace spillway::ops {
namespace {

constexpr int64_t kTaskGrain = 16384;  // elements worth a thread of their own

// A task has about so many channels, so that loops over them are wide.
constexpr int64_t kBlockChannels = 128;

// Channels whose chunks one task joins.
constexpr int64_t kJoined = 64;

// Rows that are summed as float32 before their sum is added as float64.
constexpr int64_t kFloatRows = 256;

// The groups of one sample as blocks of whole groups.
struct GroupBlocks {
  NormGroups size;

  int64_t block_groups() const {
    return std::clamp<int64_t>(kBlockChannels / size.width, 1, size.groups);
  }
  int64_t count() const {
    return (size.groups + block_groups() - 1) / block_groups();
  }
};

struct GroupBlock {
  int64_t group = 0;  // the first
  int64_t groups = 1;
  int64_t channel = 0;  // the first
  int64_t channels = 1;
};

GroupBlock BlockAt(const GroupBlocks& blocks, int64_t i) {
  const int64_t group = i * blocks.block_groups();
  const int64_t groups =
      std::min(blocks.block_groups(), blocks.size.groups - group);
  const int64_t width = blocks.size.width;
  return {.group = group,
          .groups = groups,
          .channel = group * width,
          .channels = groups * width};
}

// In an order that does not depend on the width of vectors.
double SumOf(const double* x, int64_t n) {
  constexpr int64_t kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane];
  }
  for (; i < n; ++i) lanes[0] += x[i];
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

// Sums over rows, for each channel of a block; reused by the tasks of a thread.
template <int kTerms>
class ChannelSums {
 public:
  explicit ChannelSums(int64_t most_channels)
      : most_channels_(most_channels),
        partial_(static_cast<size_t>(kTerms * most_channels)),
        sums_(static_cast<size_t>(kTerms * most_channels)) {}

  double* of(int term) { return sums_.data() + term * most_channels_; }

  // terms(at, c): kTerms floats, where `at` is the place of channel `channel`
  // of a row in x, and c counts from that channel on.
  template <typename Terms>
  void Sum(int64_t rows, int64_t stride, int64_t first, int64_t channels,
           const Terms& terms) {
    std::ranges::fill(sums_, 0.0);
    for (int64_t begin = 0; begin < rows; begin += kFloatRows) {
      const int64_t end = std::min(begin + kFloatRows, rows);
      std::ranges::fill(partial_, 0.0F);
      for (int64_t row = begin; row < end; ++row) {
        AddRow(first + row * stride, channels, terms);
      }
      for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += partial_[i];
    }
  }

 private:
  template <typename Terms>
  void AddRow(int64_t at, int64_t channels, const Terms& terms) {
    float* partial = partial_.data();
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) {
      const std::array<float, kTerms> found = terms(at, c);
      for (int i = 0; i < kTerms; ++i) {
        partial[i * most_channels_ + c] += found[static_cast<size_t>(i)];
      }
    }
  }

  const int64_t most_channels_;
  std::vector<float> partial_;
  std::vector<double> sums_;
};

template <typename T>
struct GroupNormRun {
  NormGroups size;
  int threads = 1;
  const T* x = nullptr;
  const float* scale = nullptr;
  const float* offset = nullptr;
  T* y = nullptr;
  float* mean = nullptr;
  float* inv_std = nullptr;
};

// What the tasks of a thread use one after the other: numbers of channels.
struct GroupNormSpace {
  explicit GroupNormSpace(int64_t channels)
      : sums(channels),
        mean(static_cast<size_t>(channels)),
        factor(static_cast<size_t>(channels)) {}

  ChannelSums<1> sums;
  std::vector<float> mean;
  std::vector<float> factor;  // scale * inv_std
};

template <typename T>
void NormalizeBlock(const GroupNormRun<T>& run, int64_t sample,
                    const GroupBlock& block, GroupNormSpace& space) {
  const NormGroups& size = run.size;
  const int64_t stride = size.channels();
  const int64_t first = sample * size.rows * stride + block.channel;
  const T* x = run.x;
  float* mean = space.mean.data();
  float* factor = space.factor.data();
  const auto n = static_cast<double>(size.rows * size.width);
  const auto group_sum = [&](int64_t group) {
    return SumOf(space.sums.of(0) + group * size.width, size.width);
  };
  space.sums.Sum(
      size.rows, stride, first, block.channels,
      [=](int64_t at, int64_t c) { return std::array{Load(x[at + c])}; });
  for (int64_t group = 0; group < block.groups; ++group) {
    const auto of_group = static_cast<float>(group_sum(group) / n);
    std::fill_n(mean + group * size.width, size.width, of_group);
    run.mean[sample * size.groups + block.group + group] = of_group;
  }
  space.sums.Sum(size.rows, stride, first, block.channels,
                 [=](int64_t at, int64_t c) {
                   const float distance = Load(x[at + c]) - mean[c];
                   return std::array{distance * distance};
                 });
  for (int64_t group = 0; group < block.groups; ++group) {
    const double variance = group_sum(group) / n;
    const auto inv_std =
        static_cast<float>(1 / std::sqrt(variance + size.epsilon));
    run.inv_std[sample * size.groups + block.group + group] = inv_std;
    const int64_t begin = group * size.width;
    for (int64_t c = begin; c < begin + size.width; ++c) {
      factor[c] = run.scale[block.channel + c] * inv_std;
    }
  }
  const float* offset = run.offset + block.channel;
  for (int64_t row = 0; row < size.rows; ++row) {
    const int64_t at = first + row * stride;
    T* y = run.y + at;
#pragma omp simd
    for (int64_t c = 0; c < block.channels; ++c) {
      y[c] = Store<T>((Load(x[at + c]) - mean[c]) * factor[c] + offset[c]);
    }
  }
}

template <typename T>
void NormalizeGroups(const GroupNormRun<T>& run) {
  const GroupBlocks blocks = {run.size};
  const int64_t most = blocks.block_groups() * run.size.width;
  ParallelFor(run.threads, run.size.samples * blocks.count(),
              kTaskGrain / (run.size.rows * most) + 1,
              [&](int64_t begin, int64_t end) {
                GroupNormSpace space(most);
                for (int64_t i = begin; i < end; ++i) {
                  NormalizeBlock(run, i / blocks.count(),
                                 BlockAt(blocks, i % blocks.count()), space);
                }
              });
}

// With d = x - mean, and over a group of n elements a = sum of scale dy and b =
// sum of scale dy d:
//   dx = scale inv_std dy - inv_std^3 b / n d - inv_std a / n
// Samples are split into chunks; the workspace has for each chunk its part of
// dscale [C] and of doffset [C].
template <typename T>
struct GroupNormGradRun {
  NormGroups size;
  int threads = 1;
  const T* dy = nullptr;
  const T* x = nullptr;
  const float* scale = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;
  T* dx = nullptr;
  float* dscale = nullptr;
  float* doffset = nullptr;
  float* chunks = nullptr;
};

// Samples of a chunk: enough rows that the chunks' sums are few.
int64_t ChunkSamples(const NormGroups& size) {
  constexpr int64_t kChunkRows = 64;
  return std::max<int64_t>(kChunkRows / size.rows,
                           (size.samples + kChunkRows - 1) / kChunkRows);
}

int64_t NumChunks(const NormGroups& size) {
  return (size.samples + ChunkSamples(size) - 1) / ChunkSamples(size);
}

struct GroupNormGradSpace {
  explicit GroupNormGradSpace(int64_t channels) : sums(channels) {
    for (std::vector<float>* numbers :
         {&mean, &factor, &slope, &shift, &inv_std}) {
      numbers->resize(static_cast<size_t>(channels));
    }
    for (std::vector<double>* numbers : {&dscale, &doffset}) {
      numbers->resize(static_cast<size_t>(channels));
    }
  }

  ChannelSums<2> sums;  // of dy, and of dy d
  std::vector<float> mean, factor, slope, shift, inv_std;
  std::vector<double> dscale, doffset;  // of the chunk
};

// Sets the numbers of the channels of a group, whose sums are known.
template <typename T>
void SetGroup(const GroupNormGradRun<T>& run, const GroupBlock& block,
              int64_t group, double inv_std, GroupNormGradSpace& space) {
  const int64_t width = run.size.width;
  const int64_t begin = group * width;
  double* dy = space.sums.of(0) + begin;
  double* dyd = space.sums.of(1) + begin;
  const float* scale = run.scale + block.channel + begin;
  for (int64_t c = 0; c < width; ++c) {
    const auto at = static_cast<size_t>(begin + c);
    space.doffset[at] += dy[c];
    space.dscale[at] += inv_std * dyd[c];
    space.factor[at] = static_cast<float>(scale[c] * inv_std);
    dy[c] *= scale[c];
    dyd[c] *= scale[c];
  }
  const auto n = static_cast<double>(run.size.rows * width);
  const double a = SumOf(dy, width) / n;
  const double b = SumOf(dyd, width) / n;
  std::fill_n(space.shift.begin() + begin, width,
              static_cast<float>(inv_std * a));
  std::fill_n(space.slope.begin() + begin, width,
              static_cast<float>(inv_std * inv_std * inv_std * b));
}

template <typename T>
void GradientOfBlock(const GroupNormGradRun<T>& run, int64_t sample,
                     const GroupBlock& block, GroupNormGradSpace& space) {
  const NormGroups& size = run.size;
  const int64_t stride = size.channels();
  const int64_t first = sample * size.rows * stride + block.channel;
  const int64_t statistics = sample * size.groups + block.group;
  const T* x = run.x;
  const T* dy = run.dy;
  float* mean = space.mean.data();
  for (int64_t group = 0; group < block.groups; ++group) {
    std::fill_n(mean + group * size.width, size.width,
                run.mean[statistics + group]);
  }
  space.sums.Sum(size.rows, stride, first, block.channels,
                 [=](int64_t at, int64_t c) {
                   const float g = Load(dy[at + c]);
                   return std::array{g, g * (Load(x[at + c]) - mean[c])};
                 });
  for (int64_t group = 0; group < block.groups; ++group) {
    SetGroup(run, block, group, run.inv_std[statistics + group], space);
  }
  const float* factor = space.factor.data();
  const float* slope = space.slope.data();
  const float* shift = space.shift.data();
  for (int64_t row = 0; row < size.rows; ++row) {
    const int64_t at = first + row * stride;
    T* dx = run.dx + at;
#pragma omp simd
    for (int64_t c = 0; c < block.channels; ++c) {
      const float d = Load(x[at + c]) - mean[c];
      dx[c] = Store<T>(factor[c] * Load(dy[at + c]) - slope[c] * d - shift[c]);
    }
  }
}

// All samples of a chunk.
template <typename T>
void GradientOfChunk(const GroupNormGradRun<T>& run, int64_t chunk,
                     const GroupBlock& block, GroupNormGradSpace& space) {
  std::ranges::fill(space.dscale, 0.0);
  std::ranges::fill(space.doffset, 0.0);
  const int64_t samples = ChunkSamples(run.size);
  const int64_t last = std::min((chunk + 1) * samples, run.size.samples);
  for (int64_t sample = chunk * samples; sample < last; ++sample) {
    GradientOfBlock(run, sample, block, space);
  }
  const int64_t channels = run.size.channels();
  float* dscale = run.chunks + 2 * chunk * channels + block.channel;
  for (int64_t c = 0; c < block.channels; ++c) {
    dscale[c] = static_cast<float>(space.dscale[static_cast<size_t>(c)]);
    dscale[channels + c] =
        static_cast<float>(space.doffset[static_cast<size_t>(c)]);
  }
}

// For the channels [first, last), at most kJoined.
template <typename T>
void JoinGroupChunks(const GroupNormGradRun<T>& run, int64_t first,
                     int64_t last) {
  double dscale[kJoined] = {};
  double doffset[kJoined] = {};
  const int64_t channels = run.size.channels();
  for (int64_t i = 0; i < NumChunks(run.size); ++i) {
    const float* chunk = run.chunks + 2 * i * channels + first;
    for (int64_t c = 0; c < last - first; ++c) {
      dscale[c] += chunk[c];
      doffset[c] += chunk[channels + c];
    }
  }
  for (int64_t c = first; c < last; ++c) {
    run.dscale[c] = static_cast<float>(dscale[c - first]);
    run.doffset[c] = static_cast<float>(doffset[c - first]);
  }
}

template <typename T>
void GradientOfGroups(const GroupNormGradRun<T>& run) {
  const NormGroups& size = run.size;
  const GroupBlocks blocks = {size};
  const int64_t most = blocks.block_groups() * size.width;
  ParallelFor(run.threads, NumChunks(size) * blocks.count(),
              kTaskGrain / (ChunkSamples(size) * size.rows * most) + 1,
              [&](int64_t begin, int64_t end) {
                GroupNormGradSpace space(most);
                for (int64_t i = begin; i < end; ++i) {
                  GradientOfChunk(run, i / blocks.count(),
                                  BlockAt(blocks, i % blocks.count()), space);
                }
              });
  const int64_t joins = (size.channels() + kJoined - 1) / kJoined;
  ParallelFor(run.threads, joins, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      JoinGroupChunks(run, i * kJoined,
                      std::min((i + 1) * kJoined, size.channels()));
    }
  });
}

// `read`: how the schema of the node's op sees its x.
NewKernel GroupNormOf(const KernelRequest& node,
                      const absl::StatusOr<NormGroups>& read) {
  SPILLWAY_ASSIGN_OR_RETURN(const NormGroups size, read);
  return ForStorage(
      node.inputs[0], [=, threads = node.threads]<typename T>(T) -> NewKernel {
        return MakeKernel([=](const KernelContext& context) {
          NormalizeGroups<T>({.size = size,
                              .threads = threads,
                              .x = context.input<T>(0),
                              .scale = context.input<float>(1),
                              .offset = context.input<float>(2),
                              .y = context.output<T>(0),
                              .mean = context.output<float>(1),
                              .inv_std = context.output<float>(2)});
        });
      });
}

NewKernel GroupNormGradOf(const KernelRequest& node,
                          const absl::StatusOr<NormGroups>& read) {
  SPILLWAY_ASSIGN_OR_RETURN(const NormGroups size, read);
  return ForStorage(
      node.inputs[1], [=, threads = node.threads]<typename T>(T) -> NewKernel {
        const auto compute = [=](const KernelContext& context) {
          GradientOfGroups<T>(
              {.size = size,
               .threads = threads,
               .dy = context.input<T>(0),
               .x = context.input<T>(1),
               .scale = context.input<float>(2),
               .mean = context.input<float>(3),
               .inv_std = context.input<float>(4),
               .dx = context.output<T>(0),
               .dscale = context.output<float>(1),
               .doffset = context.output<float>(2),
               .chunks = static_cast<float*>(context.workspace)});
        };
        return MakeKernel(compute, 2 * NumChunks(size) * size.channels() *
                                       static_cast<int64_t>(sizeof(float)));
      });
}

}  // namespace

NewKernel GroupNormCpu(const KernelRequest& node) {
  return GroupNormOf(
      node, ReadGroupNorm(node.attributes, node.inputs[0], node.inputs[1]));
}

NewKernel GroupNormGradCpu(const KernelRequest& node) {
  return GroupNormGradOf(
      node, ReadGroupNorm(node.attributes, node.inputs[1], node.inputs[2]));
}

NewKernel LayerNormCpu(const KernelRequest& node) {
  return GroupNormOf(
      node, ReadLayerNorm(node.attributes, node.inputs[0], node.inputs[1]));
}

NewKernel LayerNormGradCpu(const KernelRequest& node) {
  return GroupNormGradOf(
      node, ReadLayerNorm(node.attributes, node.inputs[1], node.inputs[2]));
}

}  // namespace spillway::ops
