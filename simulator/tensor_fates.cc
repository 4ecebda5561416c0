#include "simulator/tensor_fates.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/units.h"
#include "simulator/memory_over_time.h"

namespace spillway {
namespace {

class FateFinder {
 public:
  FateFinder(const ExecutionPlan& plan, const SimulatedStep& step,
             const IdMap<ValueId, ValueId>& original_of)
      : plan_(plan),
        step_(step),
        original_(OriginalBuffers(plan, original_of)),
        owned_(OwnedTimes(plan, step)),
        row_of_(plan.buffers.size(), -1),
        on_device_(plan.buffers.size()) {}

  std::vector<TensorFate> Run(int64_t min_bytes) {
    for (const StepId step : plan_.steps.ids()) AddStep(step);
    const int64_t peak_ns =
        PeakOf(MemoryOverTime(plan_, owned_, Space::kDevice)).at_ns;
    for (TensorFate& fate : fates_) Finish(peak_ns, fate);
    std::erase_if(
        fates_, [&](const TensorFate& fate) { return fate.bytes < min_bytes; });
    std::ranges::sort(fates_, [](const TensorFate& a, const TensorFate& b) {
      return std::pair(-a.bytes, a.buffer) < std::pair(-b.bytes, b.buffer);
    });
    return std::move(fates_);
  }

 private:
  // Called in the order of the steps, so the source of a copy has its row
  // already.
  void AddStep(StepId id) {
    const Step& step = plan_.steps[id];
    const int64_t source = SourceOf(step);
    bool is_counted = false;
    for (const BufferId output : step.outputs) {
      const BufferId original = original_[output];
      const bool is_again = step.lane == Lane::kCompute &&
                            original.is_valid() && RowOf(original) >= 0;
      if (row_of_[output] < 0) {
        AddBuffer(output, is_again ? RowOf(original) : source);
      } else if (is_again && RowOf(output) != RowOf(original)) {
        TakeOver(output, step_.ran[id].begin, RowOf(original));
      }
      if (!is_again || step.kind != StepKind::kCompute || is_counted) continue;
      is_counted = true;  // a clone with several outputs runs once
      TensorFate& fate = fates_[static_cast<size_t>(RowOf(original))];
      fate.recomputed = true;
      fate.recompute_ns += step_.ran[id].length();
    }
    if (IsCopy(step.kind)) AddCopy(id, RowOf(step.outputs[0]));
  }

  // The row of the tensor that a copy is of; -1: its outputs are new.
  int64_t SourceOf(const Step& step) const {
    switch (step.kind) {
      case StepKind::kSwapOut:
      case StepKind::kSwapIn:
        return RowOf(step.inputs[0]);
      case StepKind::kFeed:  // -1 when it is fed first
        return RowOf(plan_.buffer_of[step.feed]);
      case StepKind::kCompute:
      case StepKind::kAlias:
        return -1;
    }
    return -1;
  }

  int64_t RowOf(BufferId buffer) const { return row_of_[buffer]; }

  void AddBuffer(BufferId id, int64_t source) {
    const Buffer& buffer = plan_.buffers[id];
    const bool on_device = buffer.space == Space::kDevice;
    if (IsResident(buffer) || (source < 0 && !on_device)) return;
    if (source < 0) {
      source = static_cast<int64_t>(fates_.size());
      fates_.push_back(
          {.buffer = id, .bytes = AlignUp(buffer.bytes, kBufferAlignment)});
    }
    row_of_[id] = source;
    if (on_device && !owned_[id].empty()) {
      on_device_[fates_[static_cast<size_t>(source)].buffer].push_back(
          owned_[id]);
    }
  }

  // From `now_ns` on, the buffer holds another tensor: a clone has overwritten
  // a copy that came back for it.
  void TakeOver(BufferId id, int64_t now_ns, int64_t row) {
    const auto times = [&](int64_t of) -> std::vector<Interval>& {
      return on_device_[fates_[static_cast<size_t>(of)].buffer];
    };
    for (Interval& time : times(RowOf(id))) {
      if (time == owned_[id])
        time.end = std::clamp(now_ns, time.begin, time.end);
    }
    row_of_[id] = row;
    if (now_ns < owned_[id].end) {
      times(row).push_back(
          {std::max(now_ns, owned_[id].begin), owned_[id].end});
    }
  }

  void AddCopy(StepId id, int64_t row) {
    if (row < 0) return;  // a copy of a variable
    TensorFate& fate = fates_[static_cast<size_t>(row)];
    const bool out = plan_.steps[id].lane == Lane::kCopyOut;
    (out ? fate.copy_out_ns : fate.copy_in_ns) += step_.ran[id].length();
    fate.stall_ns += step_.charged_ns[id];
    const Step& step = plan_.steps[id];
    if (step.kind == StepKind::kSwapOut || IsFedAgain(plan_, step)) {
      fate.moves = true;
    }
  }

  void Finish(int64_t peak_ns, TensorFate& fate) {
    std::vector<Interval>& times = on_device_[fate.buffer];
    if (times.empty()) return;
    std::ranges::sort(times, {}, &Interval::begin);
    int64_t end_ns = times[0].begin;  // of the times examined so far
    int64_t owned_ns = 0;
    for (const Interval& time : times) {
      if (end_ns < time.begin) fate.away.push_back({end_ns, time.begin});
      end_ns = std::max(end_ns, time.end);
      owned_ns += time.length();
      fate.at_peak = fate.at_peak || time.contains(peak_ns);
    }
    fate.life = {times[0].begin, end_ns};
    const int64_t freed_ns = fate.life.length() - owned_ns;
    fate.freed_byte_seconds =
        static_cast<double>(fate.bytes) * static_cast<double>(freed_ns) * 1e-9;
  }

  const ExecutionPlan& plan_;
  const SimulatedStep& step_;
  const IdMap<BufferId, BufferId> original_;
  const IdMap<BufferId, Interval> owned_;
  IdMap<BufferId, int64_t> row_of_;  // of all copies of a tensor; -1: none
  // Of the first buffer of each tensor: when the tensor's bytes, or copies of
  // them, are on the device.
  IdMap<BufferId, std::vector<Interval>> on_device_;
  std::vector<TensorFate> fates_;
};

}  // namespace

IdMap<BufferId, BufferId> OriginalBuffers(
    const ExecutionPlan& plan, const IdMap<ValueId, ValueId>& original_of) {
  IdMap<BufferId, BufferId> originals(plan.buffers.size(), BufferId());
  for (const ValueId value : original_of.ids()) {
    if (!original_of[value].is_valid()) continue;
    const BufferId buffer = plan.buffer_of[value];
    if (buffer.is_valid()) {
      originals[buffer] = plan.buffer_of[original_of[value]];
    }
  }
  return originals;
}

std::vector<TensorFate> FindTensorFates(
    const ExecutionPlan& plan, const SimulatedStep& step, int64_t min_bytes,
    const IdMap<ValueId, ValueId>& original_of) {
  return FateFinder(plan, step, original_of).Run(min_bytes);
}

}  // namespace spillway
