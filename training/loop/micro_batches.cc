#include "training/loop/micro_batches.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

// Products of two counts stay in 64 bits.
constexpr int64_t kMostRows = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostRanks = 1 << 16;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// (a * b) mod n, for a of any size.
int64_t ProductModulo(int64_t a, int64_t b, int64_t n) {
  return (a % n) * (b % n) % n;
}

bool HasGroups(TrainAlgorithm algorithm) {
  return algorithm == TrainAlgorithm::kLoopedMinibatch ||
         algorithm == TrainAlgorithm::kAllreduceParallelBatches;
}

absl::Status CheckCount(const char* field, int64_t count, int64_t most) {
  if (count >= 1 && count <= most) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("{}: {} is not from 1 to {}", field, count, most));
}

int64_t ParallelBatches(const MicroBatchSpec& spec) {
  return HasGroups(spec.algorithm) ? spec.parallel_batches : 1;
}

// That a group is not larger than the data, unless the last one is partial.
absl::Status CheckGroup(const MicroBatchSpec& spec) {
  if (spec.tail == Tail::kPartial || spec.tail == Tail::kPad ||
      spec.algorithm == TrainAlgorithm::kBatch) {
    return absl::OkStatus();
  }
  const int64_t most = spec.rows / spec.batch_size;
  if (ParallelBatches(spec) * spec.world_size <= most) return absl::OkStatus();
  if (spec.world_size > 1) {
    return InvalidArgument(fmt::format(
        "{} ranks of {} batches of {} are more than the {}; with tail {} at "
        "most {} batches fit",
        spec.world_size, ParallelBatches(spec), Counted(spec.batch_size, "row"),
        Counted(spec.rows, "row"), TailName(spec.tail), most));
  }
  return InvalidArgument(fmt::format(
      "parallel_batches: {} batches of {} are more than the {}; with tail {} "
      "at most {} fit",
      spec.parallel_batches, Counted(spec.batch_size, "row"),
      Counted(spec.rows, "row"), TailName(spec.tail), most));
}

// Rows of a micro-batch, at most.
int64_t MicroRows(const MicroBatchSpec& spec) {
  switch (spec.algorithm) {
    case TrainAlgorithm::kBatch:
      return CeilDiv(spec.rows, spec.world_size);
    case TrainAlgorithm::kAllreduce:
      return 1;
    default:
      return spec.batch_size;
  }
}

absl::Status CheckDevices(const MicroBatchSpec& spec) {
  if (spec.loads.empty()) return absl::OkStatus();
  return SplitBatch(MicroRows(spec), spec.loads, spec.split).status();
}

absl::Status CheckSpec(const MicroBatchSpec& spec) {
  SPILLWAY_RETURN_IF_ERROR(CheckCount("rows", spec.rows, kMostRows));
  const bool takes_all = spec.algorithm == TrainAlgorithm::kBatch;
  SPILLWAY_RETURN_IF_ERROR(CheckCount("batch_size", spec.batch_size,
                                      takes_all ? kMostRows : spec.rows));
  SPILLWAY_RETURN_IF_ERROR(
      CheckCount("world_size", spec.world_size, kMostRanks));
  SPILLWAY_RETURN_IF_ERROR(CheckDevices(spec));
  const bool has_groups = HasGroups(spec.algorithm);
  const bool is_alone = spec.world_size == 1 && spec.loads.size() <= 1;
  if (!has_groups && is_alone) return absl::OkStatus();
  SPILLWAY_RETURN_IF_ERROR(
      CheckCount("parallel_batches", spec.parallel_batches, kMostRows));
  if (spec.tail == Tail::kDrift) {
    return InvalidArgument(fmt::format(
        "tail: drift is for minibatch and allreduce on one rank; {} {} "
        "partial, drop or wrap",
        has_groups            ? TrainAlgorithmName(spec.algorithm)
        : spec.world_size > 1 ? "several ranks"
                              : "several devices",
        has_groups ? "takes" : "take"));
  }
  return CheckGroup(spec);
}

}  // namespace

std::string_view TrainAlgorithmName(TrainAlgorithm algorithm) {
  constexpr std::array<std::string_view, 5> kNames = {
      "minibatch", "batch", "looped_minibatch", "allreduce_parallel_batches",
      "allreduce"};
  return kNames[static_cast<size_t>(algorithm)];
}

std::string_view TailName(Tail tail) {
  constexpr std::array<std::string_view, 6> kNames = {
      "partial", "drop", "wrap", "drift", "pad", "cycle"};
  return kNames[static_cast<size_t>(tail)];
}

bool Crosses(int64_t every, int64_t before, int64_t after) {
  return every > 0 && after / every > before / every;
}

absl::StatusOr<MicroBatchPlan> MicroBatchPlan::Create(
    const MicroBatchSpec& spec) {
  SPILLWAY_RETURN_IF_ERROR(CheckSpec(spec));
  return MicroBatchPlan(spec);
}

MicroBatchPlan::MicroBatchPlan(const MicroBatchSpec& spec)
    : spec_(spec), micro_rows_(MicroRows(spec)) {
  switch (spec.algorithm) {
    case TrainAlgorithm::kMinibatch:
    case TrainAlgorithm::kBatch:
      group_size_ = 1;
      break;
    case TrainAlgorithm::kLoopedMinibatch:
    case TrainAlgorithm::kAllreduceParallelBatches:
      group_size_ = spec.parallel_batches;
      break;
    case TrainAlgorithm::kAllreduce:
      group_size_ = spec.batch_size;
      break;
  }
  group_size_ *= spec.world_size;
  group_rows_ = micro_rows_ * group_size_;
}

std::pair<int64_t, int64_t> MicroBatchPlan::Rows(int64_t update) const {
  int64_t begin = 0;
  switch (spec_.tail) {
    case Tail::kPad:
      begin = (update % *UpdatesPerEpoch()) * group_rows_;
      return {begin, begin + group_rows_};
    case Tail::kPartial:
    case Tail::kDrop:
      begin = (update % *UpdatesPerEpoch()) * group_rows_;
      break;
    case Tail::kWrap:
      begin = ProductModulo(update, group_rows_, spec_.rows);
      if (begin + group_rows_ > spec_.rows) begin = 0;
      break;
    case Tail::kDrift:
      begin = ProductModulo(update, group_rows_, spec_.rows);
      break;
    case Tail::kCycle:
      begin = ProductModulo(update, group_rows_, spec_.rows);
      return {begin, begin + group_rows_};
  }
  return {begin, std::min(begin + group_rows_, spec_.rows)};
}

std::vector<MicroBatch> MicroBatchPlan::Batches(int64_t update) const {
  const auto [begin, end] = Rows(update);
  std::vector<MicroBatch> batches;
  for (int64_t row = begin; row < end; row += micro_rows_) {
    MicroBatch& batch = batches.emplace_back(
        MicroBatch{.begin = row, .end = std::min(row + micro_rows_, end)});
    if (!spec_.weighted) continue;
    batch.weight =
        static_cast<double>(batch.rows()) / static_cast<double>(end - begin);
  }
  return batches;
}

std::vector<int64_t> MicroBatchPlan::Split(int64_t rows) const {
  if (rows < micro_rows_) return SplitShortBatch(rows, spec_.loads);
  return *SplitBatch(rows, spec_.loads, spec_.split);  // checked by Create
}

MicroBatch MicroBatchPlan::SliceOf(const MicroBatch& micro, int device) const {
  if (devices() == 1) return micro;  // its weight to the last bit
  const std::vector<int64_t> sizes = Split(micro.rows());
  MicroBatch slice = {.begin = micro.begin};
  for (int before = 0; before < device; ++before) {
    slice.begin += sizes[static_cast<size_t>(before)];
  }
  const int64_t rows = sizes[static_cast<size_t>(device)];
  slice.end = slice.begin + rows;
  slice.weight = micro.weight * static_cast<double>(rows) /
                 static_cast<double>(micro.rows());
  return slice;
}

std::vector<MicroBatch> MicroBatchPlan::SlicesOf(
    const std::vector<MicroBatch>& batches, int worker) const {
  const auto count = static_cast<int64_t>(batches.size());
  const int64_t first = std::min(count, rank_of(worker) * per_rank());
  const int64_t last = std::min(count, first + per_rank());
  std::vector<MicroBatch> slices;
  for (int64_t i = first; i < last; ++i) {
    const MicroBatch slice =
        SliceOf(batches[static_cast<size_t>(i)], device_of(worker));
    if (slice.rows() > 0) slices.push_back(slice);
  }
  return slices;
}

std::vector<MicroBatch> MicroBatchPlan::Update(int64_t update) const {
  const std::vector<MicroBatch> batches = Batches(update);
  if (devices() == 1) return batches;
  std::vector<MicroBatch> all;
  for (int worker = 0; worker < workers(); ++worker) {
    const std::vector<MicroBatch> own = SlicesOf(batches, worker);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<MicroBatch> MicroBatchPlan::UpdateOf(int64_t update,
                                                 int worker) const {
  const std::vector<MicroBatch> batches = Batches(update);
  std::vector<MicroBatch> own = SlicesOf(batches, worker);
  if (!own.empty()) return own;
  MicroBatch idle = batches[0];
  if (devices() > 1) idle = {.begin = 0, .end = Sizes(worker)[0]};
  idle.weight = 0;
  return {idle};
}

int64_t MicroBatchPlan::NumberOf(int64_t update,
                                 const MicroBatch& micro) const {
  return (micro.begin - Rows(update).first) / micro_rows_;
}

int64_t MicroBatchPlan::EpochOf(int64_t update) const {
  if (spec_.tail != Tail::kWrap && spec_.tail != Tail::kCycle) {
    return update / *UpdatesPerEpoch();
  }
  const int64_t whole = update / spec_.rows;  // each reads group_rows_ epochs
  return whole * group_rows_ + update % spec_.rows * group_rows_ / spec_.rows;
}

std::optional<int64_t> MicroBatchPlan::UpdatesPerEpoch() const {
  const bool is_even = spec_.rows % group_rows_ == 0;
  if (is_even || spec_.tail == Tail::kDrop) return spec_.rows / group_rows_;
  if (spec_.tail == Tail::kWrap || spec_.tail == Tail::kCycle) {
    return std::nullopt;
  }
  return spec_.rows / group_rows_ + 1;
}

absl::StatusOr<int64_t> MicroBatchPlan::Updates(
    const TrainingLength& length) const {
  const std::array<std::pair<const char*, std::optional<int64_t>>, 3> fields = {
      {{"epochs", length.epochs},
       {"updates", length.updates},
       {"micro_batches", length.micro_batches}}};
  int given = 0;
  for (const auto& [name, count] : fields) {
    if (!count) continue;
    ++given;
    SPILLWAY_RETURN_IF_ERROR(CheckCount(name, *count, kMostRows));
  }
  if (given != 1) {
    return InvalidArgument(fmt::format(
        "exactly one of epochs, updates and micro_batches is needed, not {}",
        given));
  }
  if (length.updates) return *length.updates;
  if (length.epochs) {
    if (spec_.tail == Tail::kCycle) {
      return *length.epochs * (spec_.rows / group_rows_);
    }
    const std::optional<int64_t> each = UpdatesPerEpoch();
    return each ? *length.epochs * *each
                : CeilDiv(*length.epochs * spec_.rows, group_rows_);
  }
  const int64_t batches = *length.micro_batches;
  if (spec_.algorithm == TrainAlgorithm::kAllreduce) {
    return CeilDiv(batches, spec_.world_size);
  }
  if (spec_.algorithm == TrainAlgorithm::kBatch) {
    return CeilDiv(batches * spec_.batch_size, spec_.rows);
  }
  if (spec_.tail != Tail::kPartial) return CeilDiv(batches, group_size_);
  const int64_t an_epoch = CeilDiv(spec_.rows, micro_rows_);
  return batches / an_epoch * *UpdatesPerEpoch() +
         CeilDiv(batches % an_epoch, group_size_);
}

std::vector<int64_t> MicroBatchPlan::Sizes(int worker) const {
  if (devices() == 1) return BatchSizes();
  std::vector<int64_t> sizes;
  for (const int64_t rows : BatchSizes()) {
    const int64_t own = Split(rows)[static_cast<size_t>(device_of(worker))];
    if (own > 0 && std::ranges::count(sizes, own) == 0) sizes.push_back(own);
  }
  std::ranges::sort(sizes, std::greater<>());
  return sizes;
}

std::vector<int64_t> MicroBatchPlan::BatchSizes() const {
  std::vector<int64_t> sizes = {micro_rows_};
  if (spec_.tail == Tail::kPartial && spec_.rows % micro_rows_ != 0) {
    sizes.push_back(spec_.rows % micro_rows_);
  }
  // Batches begin at all multiples of the divisor.
  if (spec_.tail == Tail::kDrift && micro_rows_ == group_rows_) {
    const int64_t divisor = std::gcd(spec_.rows, micro_rows_);
    for (int64_t rows = micro_rows_ - divisor; rows > 0; rows -= divisor) {
      sizes.push_back(rows);
    }
  }
  return sizes;
}

}  // namespace spillway
