#include "tuner/bound/joint_tests.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "tuner/bound/covering_bound.h"

namespace spillway {
namespace {

// More than any tensors have.
constexpr int64_t kAllBytes = int64_t{1} << 60;

// The covering test looks at the step with the most recomputed bytes of each of
// this many blocks of steps.
constexpr size_t kCoverRows = 64;

LinkRates RatesOf(const JointBoundInputs& inputs) {
  const LinkRates rates = {.out = BestRate(inputs.profile.to_host),
                           .in = BestRate(inputs.profile.to_device)};
  return CanSwap(inputs) ? rates : LinkRates{};
}

// When bytes have left, as in Cut::out_ns.
double OutNs(const CrowdedStep& step, const StepPath& path, double out_rate) {
  double latest = -std::numeric_limits<double>::infinity();
  for (const WrittenBytes& written : step.written) {
    const PathMoment& end = path.ends[static_cast<size_t>(written.written)];
    latest = std::max(
        latest, static_cast<double>(end.ns) -
                    static_cast<double>(written.earlier_bytes) / out_rate);
  }
  return latest;
}

int64_t PositiveNs(double ns) {
  return static_cast<int64_t>(std::max(0.0, ns));
}

// The bytes that a plan would swap at a cut that fails: those whose copies are
// hidden, and those that are computed again in more time than they take to
// leave; not more than can return in time.
int64_t BestSwappedBytes(const Cut& cut, const LinkRates& rates,
                         int64_t step_ns) {
  const auto start = static_cast<double>(cut.start_ns);
  const auto after = static_cast<double>(cut.after_ns);
  const double hidden = std::min((start - cut.out_ns) * rates.out,
                                 (after - cut.in_ns) * rates.in);
  const auto cheap = static_cast<double>(
      cut.absent_bytes - cut.remakes.BytesUpToPrice(1 / rates.out));
  const double in_time =
      (static_cast<double>(step_ns - cut.kernel_ns) - start - cut.in_ns) *
      rates.in;
  const double bytes = std::min(std::max(hidden, cheap), in_time);
  return static_cast<int64_t>(
      std::clamp(bytes, 0.0, static_cast<double>(cut.absent_bytes)));
}

}  // namespace

bool CanSwap(const JointBoundInputs& inputs) {
  return inputs.can_swap && BestRate(inputs.profile.to_host) > 0 &&
         BestRate(inputs.profile.to_device) > 0;
}

JointBound BoundOfPath(const StepPath& path, const StepModel& model) {
  return {.step_ns = path.end.ns,
          .kernels_ns = model.kernels_ns,
          .out_ns = path.end.out_ns,
          .in_ns = path.end.in_ns,
          .issue_ns = path.end.issue_ns,
          .tight_step = path.end.step};
}

JointTests::JointTests(const JointBoundInputs& inputs)
    : inputs_(inputs),
      rates_(RatesOf(inputs)),
      crowd_(FindCrowdedSteps({.model = inputs.model,
                               .remake_ns = inputs.remake_ns,
                               .budget_bytes = inputs.budget_bytes,
                               .in_rate = rates_.in})),
      crowded_at_(inputs.model.steps.size(), -1),
      recomputed_bytes_(crowd_.steps.size(), 0) {
  for (size_t i = 0; i < crowd_.steps.size(); ++i) {
    crowded_at_[static_cast<size_t>(crowd_.steps[i].step)] =
        static_cast<int32_t>(i);
  }
  FindItems();
}

void JointTests::FindItems() {
  const StepModel& model = inputs_.model;
  // Two gaps with only an alias between them: the first ends where the second
  // begins, and the same kernel reads their bytes. Different tensors that look
  // alike become one item, too: then the bound is lower.
  std::map<std::tuple<int32_t, int32_t, int64_t>, int32_t> items;
  for (size_t i = 0; i < model.gaps.size(); ++i) {
    const Gap& gap = model.gaps[i];
    const int64_t bytes = model.copies[static_cast<size_t>(gap.copy_out)].bytes;
    const auto before = items.find({gap.last, gap.kernel, bytes});
    const auto item = before == items.end()
                          ? static_cast<int32_t>(items_.size())
                          : before->second;
    if (before == items.end()) {
      items_.push_back({.bytes = bytes, .ns = kCannotRemake});
    }
    items.insert_or_assign({gap.next, gap.kernel, bytes}, item);
    item_of_.push_back(item);
  }
  for (const CrowdedStep& step : crowd_.steps) {
    for (size_t i = 0; i < step.gaps.size(); ++i) {
      const int32_t item = item_of_[static_cast<size_t>(step.gaps[i])];
      int64_t& ns = items_[static_cast<size_t>(item)].ns;
      ns = std::min(ns, step.remakes[i].ns);
    }
  }
}

int64_t JointTests::MostRecomputed(int32_t step, int64_t start_ns) {
  const int32_t crowded = crowded_at_[static_cast<size_t>(step)];
  if (crowded < 0 || rates_.in <= 0) return kAllBytes;
  const auto i = static_cast<size_t>(crowded);
  const int64_t kernel_ns = inputs_.model.steps[static_cast<size_t>(step)].ns;
  const int64_t spare_ns =
      step_ns_ - start_ns - kernel_ns - crowd_.steps[i].after_ns;
  // Without spare time the path is too long whatever is copied.
  if (spare_ns < 0) return kAllBytes;
  recomputed_bytes_[i] = knapsacks_[i].MostBytes(spare_ns);
  return recomputed_bytes_[i];
}

Cut JointTests::CutAt(size_t crowded, const StepPath& path) const {
  const CrowdedStep& step = crowd_.steps[crowded];
  const auto k = static_cast<size_t>(step.step);
  return {.absent_bytes = step.absent_bytes,
          .start_ns = path.starts[k].ns,
          .kernel_ns = inputs_.model.steps[k].ns,
          .after_ns = step.after_ns,
          .out_ns = OutNs(step, path, rates_.out),
          .in_ns = step.in_ns,
          .remakes = knapsacks_[crowded]};
}

JointBound JointTests::OfPath(const StepPath& path) const {
  JointBound bound = BoundOfPath(path, inputs_.model);
  if (bound.tight_step < 0) return bound;
  const auto i =
      static_cast<size_t>(crowded_at_[static_cast<size_t>(bound.tight_step)]);
  bound.recompute_ns = PositiveNs(knapsacks_[i].LeastNs(
      std::min(recomputed_bytes_[i], knapsacks_[i].total_bytes())));
  return bound;
}

JointBound JointTests::OfCut(size_t crowded, const StepPath& path) const {
  const Cut cut = CutAt(crowded, path);
  const PathMoment& start =
      path.starts[static_cast<size_t>(crowd_.steps[crowded].step)];
  JointBound bound = OfPath(path);
  bound.step_ns = step_ns_ + 1;
  bound.tight_step = crowd_.steps[crowded].step;
  // Of the waits before the kernel, those that kernels do not hide.
  const int64_t idle_ns =
      start.ns - (bound.kernels_ns - cut.kernel_ns - cut.after_ns);
  bound.out_ns = std::min(start.out_ns, idle_ns);
  bound.in_ns = std::min(start.in_ns, idle_ns);
  bound.issue_ns = std::min(start.issue_ns, idle_ns);
  const int64_t swapped =
      rates_.in > 0 ? BestSwappedBytes(cut, rates_, step_ns_) : 0;
  if (swapped > 0) {
    const auto bytes = static_cast<double>(swapped);
    bound.out_ns += PositiveNs(cut.out_ns + bytes / rates_.out -
                               static_cast<double>(cut.start_ns));
    bound.in_ns += PositiveNs(cut.in_ns + bytes / rates_.in -
                              static_cast<double>(cut.after_ns));
  }
  const int64_t recomputed =
      std::min(cut.absent_bytes - swapped, cut.remakes.total_bytes());
  bound.recompute_ns = PositiveNs(cut.remakes.LeastNs(recomputed));
  return bound;
}

std::optional<size_t> JointTests::FailedCut(const StepPath& path) {
  for (size_t i = 0; i < crowd_.steps.size(); ++i) {
    const std::optional<int64_t> least =
        LeastRecomputedBytes(CutAt(i, path), rates_, step_ns_);
    if (!least) return i;
    recomputed_bytes_[i] = *least;
  }
  return std::nullopt;
}

JointBound JointTests::OfCovering(const StepPath& path) {
  JointBound bound = OfPath(path);
  const size_t block = crowd_.steps.size() / kCoverRows + 1;
  std::vector<CoverRow> rows;
  std::vector<int32_t> steps;
  for (size_t begin = 0; begin < crowd_.steps.size(); begin += block) {
    const auto from = recomputed_bytes_.begin() + static_cast<int64_t>(begin);
    const size_t size = std::min(block, crowd_.steps.size() - begin);
    const auto most = std::max_element(from, from + static_cast<int64_t>(size));
    if (*most <= 0) continue;
    const CrowdedStep& step =
        crowd_.steps[static_cast<size_t>(most - recomputed_bytes_.begin())];
    CoverRow& row = rows.emplace_back();
    row.missing_bytes = *most;
    steps.push_back(step.step);
    for (const int32_t gap : step.gaps) {
      const int32_t item = item_of_[static_cast<size_t>(gap)];
      if (items_[static_cast<size_t>(item)].ns > most_recompute_ns_) continue;
      row.items.push_back(item);
    }
  }
  if (rows.empty()) return bound;
  const Covering covering = CoveringBound(items_, rows, most_recompute_ns_);
  const int64_t least_ns = covering.is_possible
                               ? inputs_.model.kernels_ns + covering.ns
                               : step_ns_ + 1;
  if (least_ns <= bound.step_ns) return bound;
  bound = {.step_ns = std::min(least_ns, step_ns_ + 1),
           .kernels_ns = inputs_.model.kernels_ns,
           .recompute_ns = covering.ns};
  if (covering.row >= 0) {
    bound.tight_step = steps[static_cast<size_t>(covering.row)];
  }
  return bound;
}

JointBound JointTests::BoundAssuming(int64_t step_ns, bool is_thorough) {
  step_ns_ = step_ns;
  most_recompute_ns_ = step_ns - inputs_.model.kernels_ns;
  knapsacks_.clear();
  for (const CrowdedStep& step : crowd_.steps) {
    knapsacks_.emplace_back(step.remakes, most_recompute_ns_);
  }
  const StepPath path =
      LongestPath({.model = inputs_.model,
                   .profile = inputs_.profile,
                   .budget_bytes = inputs_.budget_bytes,
                   .most_recomputed_bytes =
                       [this](int32_t step, int64_t start_ns) {
                         return MostRecomputed(step, start_ns);
                       },
                   .rounds_to_whole_tensors = is_thorough});
  if (path.end.ns > step_ns) {
    JointBound bound = OfPath(path);
    bound.step_ns = step_ns + 1;
    return bound;
  }
  if (const std::optional<size_t> failed = FailedCut(path)) {
    return OfCut(*failed, path);
  }
  return crowd_.has_all ? OfCovering(path) : OfPath(path);
}

}  // namespace spillway
