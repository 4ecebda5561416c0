#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/status_macros.h"
#include "comm/communicator.h"
#include "ops/collective/sparse_all_reduce.h"
#include "ops/common/function_kernel.h"

namespace spillway::ops {
namespace {

// As it is sent.
struct Pair {
  uint32_t place = 0;  // in the bucket, from 1 on; 0: none
  float value = 0;     // times the rank's weight
};

// Pairs in the scratch of a node: those of this rank and of all in a round.
constexpr int64_t kLeastPairs = 8192;
// For elements by magnitude: half as many bytes as the bucket.
constexpr int64_t kElementsAPair = 4;
// For the largest: this rank's and those of four, in one round.
constexpr int64_t kTopLists = 5;

// A tensor of the bucket.
struct Part {
  float* from = nullptr;  // what is sent is taken out of it
  float* sum = nullptr;
  int64_t count = 0;
};

// Ordered as magnitudes are, with NaN above infinity.
uint32_t Magnitude(float x) {
  return std::bit_cast<uint32_t>(x) & 0x7fff'ffffU;
}

// The elements above `least`, and the first `ties` of those equal to it.
struct Selection {
  uint32_t least = 0;
  int64_t ties = std::numeric_limits<int64_t>::max();

  bool Takes(float x) {
    const uint32_t magnitude = Magnitude(x);
    return magnitude > least || (magnitude == least && ties-- > 0);
  }
};

// The `top` largest, found digit by digit from the highest.
Selection Largest(std::span<const Part> parts, int64_t top) {
  struct Digit {
    int shift = 0;
    int bits = 0;
  };
  Selection selection = {.least = 0, .ties = top};
  for (const Digit digit : {Digit{20, 11}, Digit{10, 10}, Digit{0, 10}}) {
    std::array<int64_t, 2048> counts = {};
    const uint32_t mask = (1U << digit.bits) - 1;
    for (const Part& part : parts) {
      for (int64_t i = 0; i < part.count; ++i) {
        const uint32_t rest = Magnitude(part.from[i]) >> digit.shift;
        if (rest >> digit.bits == selection.least) ++counts[rest & mask];
      }
    }
    uint32_t value = mask;
    while (counts[value] < selection.ties) selection.ties -= counts[value--];
    selection.least = (selection.least << digit.bits) | value;
  }
  return selection;
}

int64_t CountTaken(std::span<const Part> parts, Selection selection) {
  int64_t taken = 0;
  for (const Part& part : parts) {
    for (int64_t i = 0; i < part.count; ++i) {
      if (selection.Takes(part.from[i])) ++taken;
    }
  }
  return taken;
}

// Takes the selected elements out, in order.
class Sender {
 public:
  Sender(std::span<const Part> parts, const Selection& selection, float weight,
         bool empties)
      : parts_(parts),
        selection_(selection),
        weight_(weight),
        empties_(empties) {}

  // The next ones, and then pairs of no place.
  void Fill(std::span<Pair> pairs) {
    size_t filled = 0;
    for (; part_ < parts_.size() && filled < pairs.size(); Advance()) {
      const Part& part = parts_[part_];
      for (; next_ < part.count && filled < pairs.size(); ++next_) {
        float& x = part.from[next_];
        if (!selection_.Takes(x)) continue;
        pairs[filled++] = {.place = static_cast<uint32_t>(before_ + next_ + 1),
                           .value = weight_ * x};
        if (empties_) x = 0;
      }
    }
    std::ranges::fill(pairs.subspan(filled), Pair());
  }

 private:
  // To the next part, at the end of one.
  void Advance() {
    if (next_ < parts_[part_].count) return;
    before_ += parts_[part_++].count;
    next_ = 0;
  }

  const std::span<const Part> parts_;
  Selection selection_;
  const float weight_;
  const bool empties_;
  size_t part_ = 0;
  int64_t next_ = 0;    // in this part
  int64_t before_ = 0;  // elements of the parts before
};

// Adds the pairs of one rank, in order of places.
absl::Status AddPairs(std::span<const Pair> pairs, std::span<const Part> parts,
                      int rank) {
  size_t part = 0;
  int64_t before = 0;
  for (const Pair& pair : pairs) {
    if (pair.place == 0) break;
    while (part < parts.size() && pair.place > before + parts[part].count) {
      before += parts[part++].count;
    }
    const int64_t place = int64_t{pair.place} - 1 - before;
    if (part == parts.size() || place < 0) {
      return absl::AbortedError(
          fmt::format("rank {} has sent element {} of {}, out of order", rank,
                      pair.place, before));
    }
    parts[part].sum[place] += pair.value;
  }
  return absl::OkStatus();
}

struct SparseBucket {
  std::vector<int64_t> counts = {};  // elements of each tensor
  Sparsity sparsity = {};
  bool has_residuals = false;

  int64_t elements() const {
    int64_t sum = 0;
    for (const int64_t count : counts) sum += count;
    return sum;
  }
  bool takes_top() const { return sparsity.topk_fraction > 0; }
  int64_t pairs() const {
    const int64_t wanted = takes_top() ? kTopLists * sparsity.Top(elements())
                                       : elements() / kElementsAPair;
    return std::max(wanted, kLeastPairs);
  }
};

// The elements to send: x, or the residual with x added to it.
std::vector<Part> PartsOf(const KernelContext& context,
                          const SparseBucket& bucket) {
  const size_t each = bucket.has_residuals ? 2 : 1;
  std::vector<Part> parts;
  for (size_t i = 0; i < bucket.counts.size(); ++i) {
    Part& part = parts.emplace_back();
    part.sum = context.output<float>(i);
    part.count = bucket.counts[i];
    auto* const x = static_cast<float*>(context.inputs[i * each]);
    part.from = x;
    if (!bucket.has_residuals) continue;
    part.from = static_cast<float*>(context.inputs[i * each + 1]);
    for (int64_t k = 0; k < part.count; ++k) part.from[k] += x[k];
  }
  return parts;
}

absl::Status ReduceSparse(const KernelContext& context,
                          const SparseBucket& bucket) {
  Communicator& communicator = *context.communicator;
  const std::vector<Part> parts = PartsOf(context, bucket);
  Selection selection = {.least = Magnitude(bucket.sparsity.min_magnitude)};
  int64_t most = 0;  // pairs of a rank
  if (bucket.takes_top()) {
    most = bucket.sparsity.Top(bucket.elements());
    selection = Largest(parts, most);
  } else {
    most = CountTaken(parts, selection);
    SPILLWAY_RETURN_IF_ERROR(
        communicator.AllReduce(&most, 1, DType::kInt64, ReduceOp::kMax));
  }
  const int64_t lists = communicator.size() + 1;
  const int64_t round = std::min(bucket.pairs() / lists, most);
  if (most > 0 && round == 0) {
    return InvalidArgument(
        fmt::format("sparse gradients of {} ranks: there may be {} at most",
                    communicator.size(), kLeastPairs - 1));
  }
  for (const Part& part : parts) std::fill_n(part.sum, part.count, 0.0F);
  const float weight =
      *static_cast<const float*>(context.inputs[context.inputs.size() - 1]);
  Sender sender(parts, selection, weight, bucket.has_residuals);
  const std::span<Pair> scratch(static_cast<Pair*>(context.workspace),
                                static_cast<size_t>(round * lists));
  const std::span<Pair> own = scratch.first(static_cast<size_t>(round));
  const std::span<Pair> all = scratch.subspan(own.size());
  for (int64_t sent = 0; sent < most; sent += round) {
    sender.Fill(own);
    SPILLWAY_RETURN_IF_ERROR(communicator.AllGather(
        own.data(), all.data(), static_cast<int64_t>(own.size_bytes())));
    for (int rank = 0; rank < communicator.size(); ++rank) {
      SPILLWAY_RETURN_IF_ERROR(AddPairs(
          all.subspan(static_cast<size_t>(rank) * own.size(), own.size()),
          parts, rank));
    }
  }
  return absl::OkStatus();
}

NewKernel NewSparseKernel(const KernelRequest& node, bool has_residuals) {
  SparseBucket bucket = {.has_residuals = has_residuals};
  SPILLWAY_ASSIGN_OR_RETURN(bucket.sparsity, ReadSparsity(node.attributes));
  for (const TensorType& output : node.outputs) {
    bucket.counts.push_back(output.num_elements());
  }
  const int64_t bytes = bucket.pairs() * static_cast<int64_t>(sizeof(Pair));
  return MakeKernel(
      [bucket](const KernelContext& context) {
        return ReduceSparse(context, bucket);
      },
      bytes);
}

}  // namespace

NewKernel SparseAllReduceCpu(const KernelRequest& node) {
  return NewSparseKernel(node, /*has_residuals=*/false);
}

NewKernel ErrorFeedbackAllReduceCpu(const KernelRequest& node) {
  return NewSparseKernel(node, /*has_residuals=*/true);
}

}  // namespace spillway::ops
