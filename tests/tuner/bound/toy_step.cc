#include "tests/tuner/bound/toy_step.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/units.h"
#include "tests/tuner/tuner_case.h"

namespace spillway::testing {
namespace {

constexpr size_t At(int32_t i) { return static_cast<size_t>(i); }

int64_t AlignedBytes(const ToyStorage& storage) {
  return AlignUp(storage.bytes, kBufferAlignment);
}

void CountLiveBytes(const ToyStep& step, StepModel& model) {
  for (const ToyStorage& storage : step.storages) {
    for (int32_t k = storage.uses.front(); k <= storage.uses.back(); ++k) {
      model.steps[At(k)].live_bytes += AlignedBytes(storage);
    }
    if (storage.overwrites < 0) continue;
    ModelStep& writer = model.steps[At(storage.uses.front())];
    const ToyStorage& input = step.storages[At(storage.overwrites)];
    const bool ends_here = input.uses.back() == storage.uses.front();
    (ends_here ? writer.live_bytes : writer.in_place_bytes) +=
        (ends_here ? -1 : 1) * AlignedBytes(storage);
  }
  for (const ModelStep& counted : model.steps) {
    model.peak_bytes = std::max(model.peak_bytes, counted.live_bytes);
  }
}

// The first kernel among the uses from `from` on.
int32_t FirstKernel(const ToyStep& step, const ToyStorage& storage,
                    int32_t from) {
  for (const int32_t use : storage.uses) {
    if (use >= from && step.steps[At(use)].kind == StepKind::kCompute) {
      return use;
    }
  }
  return static_cast<int32_t>(step.steps.size());
}

// The node's time if no larger storage has it.
int64_t RemakeNs(const ToyStep& step, int32_t index) {
  const ToyStorage& storage = step.storages[At(index)];
  if (storage.made_with < 0) return storage.remake_ns;
  const ToyStorage& other = step.storages[At(storage.made_with)];
  const bool is_larger = std::pair(storage.bytes, -index) >
                         std::pair(other.bytes, -storage.made_with);
  return is_larger || storage.remake_ns == kCannotRemake ? storage.remake_ns
                                                         : 0;
}

struct ToyGap {
  Gap gap = {};
  int32_t storage = 0;
};

void AddGaps(const ToyStep& step, int32_t index, const DeviceProfile& profile,
             StepModel& model, std::vector<ToyGap>& gaps) {
  const ToyStorage& storage = step.storages[At(index)];
  const int32_t written = storage.uses.front();
  const bool is_feed = step.steps[At(written)].kind == StepKind::kFeed;
  const auto copy = static_cast<int32_t>(model.copies.size());
  model.copies.push_back(
      {.written = written,
       .bytes = storage.bytes,
       .ns = is_feed ? 0 : CopyNs(profile.to_host, storage.bytes),
       .shared_ns = is_feed ? 0 : SharedCopyNs(profile.to_host, storage.bytes),
       .is_feed = is_feed});
  for (size_t i = 0; i + 1 < storage.uses.size(); ++i) {
    const int32_t last = storage.uses[i];
    const int32_t next = storage.uses[i + 1];
    if (next - last < 2) continue;
    gaps.push_back(
        {{.copy_out = copy,
          .last = last,
          .next = next,
          .kernel = FirstKernel(step, storage, next),
          .aligned_bytes = AlignedBytes(storage),
          .copy_in_ns = CopyNs(profile.to_device, storage.bytes),
          .shared_in_ns = SharedCopyNs(profile.to_device, storage.bytes)},
         index});
  }
}

}  // namespace

ToyModel ModelOf(const ToyStep& step, const DeviceProfile& profile) {
  ToyModel toy;
  StepModel& model = toy.model;
  for (const ToyStep::Kernel& kernel : step.steps) {
    model.steps.push_back({.kind = kernel.kind, .ns = kernel.ns});
    if (kernel.kind == StepKind::kCompute) model.kernels_ns += kernel.ns;
  }
  CountLiveBytes(step, model);
  std::vector<ToyGap> gaps;
  for (size_t i = 0; i < step.storages.size(); ++i) {
    const ToyStorage& storage = step.storages[i];
    ModelStep& writer = model.steps[At(storage.uses.front())];
    if (writer.kind == StepKind::kFeed) {
      writer.ns = CopyNs(profile.to_device, storage.bytes);
      const int32_t first = FirstKernel(step, storage, 0);
      writer.first_kernel =
          first < static_cast<int32_t>(step.steps.size()) ? first : -1;
    }
    AddGaps(step, static_cast<int32_t>(i), profile, model, gaps);
  }
  std::ranges::stable_sort(
      gaps, {}, [](const ToyGap& toy_gap) { return toy_gap.gap.last; });
  for (const ToyGap& gap : gaps) {
    model.gaps.push_back(gap.gap);
    toy.storages.push_back(gap.storage);
    toy.remake_ns.push_back(RemakeNs(step, gap.storage));
  }
  return toy;
}

namespace {

struct ToyClone {
  int32_t before = 0;  // original step
  int32_t storage = 0;
  int32_t at = 0;  // its own step
};

class Cloner {
 public:
  Cloner(const ToyStep& step, const ToyModel& toy,
         const std::vector<bool>& is_recomputed)
      : step_(step), toy_(toy), clone_of_(toy.model.gaps.size(), -1) {
    std::vector<int32_t> gaps;
    for (size_t i = 0; i < is_recomputed.size(); ++i) {
      if (is_recomputed[i]) gaps.push_back(static_cast<int32_t>(i));
    }
    std::ranges::stable_sort(gaps, {}, [&](int32_t g) { return gap(g).next; });
    for (const int32_t index : gaps) AddClone(index);
    for (size_t i = 0; i < clones_.size(); ++i) {
      clones_[i].at = clones_[i].before + static_cast<int32_t>(i);
    }
  }

  ToyStep Run() {
    ToyStep result;
    size_t next_clone = 0;
    for (size_t k = 0; k < step_.steps.size(); ++k) {
      for (; next_clone < clones_.size() && At(clones_[next_clone].before) == k;
           ++next_clone) {
        const int32_t storage = clones_[next_clone].storage;
        result.steps.push_back({.ns = step_.storages[At(storage)].remake_ns});
      }
      result.steps.push_back(step_.steps[k]);
    }
    for (size_t i = 0; i < step_.storages.size(); ++i) {
      AddPieces(static_cast<int32_t>(i), result);
    }
    for (size_t i = 0; i < step_.storages.size(); ++i) {
      SetOverwritten(static_cast<int32_t>(i), result);
    }
    return result;
  }

  // Where the original step is.
  int32_t Moved(int32_t original) const {
    const auto clones = std::ranges::count_if(
        clones_,
        [&](const ToyClone& clone) { return clone.before <= original; });
    return original + static_cast<int32_t>(clones);
  }

  // The piece of the storage that the original step uses.
  int32_t PieceAt(int32_t storage, int32_t original,
                  const ToyStep& result) const {
    for (size_t i = 0; i < result.storages.size(); ++i) {
      const std::vector<int32_t>& uses = result.storages[i].uses;
      if (origins_[i] == storage &&
          std::ranges::find(uses, Moved(original)) != uses.end()) {
        return static_cast<int32_t>(i);
      }
    }
    return -1;
  }

 private:
  const Gap& gap(int32_t index) const { return toy_.model.gaps[At(index)]; }

  void AddClone(int32_t index) {
    const int32_t storage = toy_.storages[At(index)];
    for (size_t i = 0; i < clones_.size(); ++i) {
      const ToyClone& clone = clones_[i];
      if (step_.storages[At(storage)].made_with == clone.storage &&
          clone.before > gap(index).last) {
        clone_of_[At(index)] = static_cast<int32_t>(i);
        return;
      }
    }
    clone_of_[At(index)] = static_cast<int32_t>(clones_.size());
    clones_.push_back({.before = gap(index).next, .storage = storage});
  }

  // Cuts the storage where a clone fills a gap.
  void AddPieces(int32_t index, ToyStep& result) {
    const ToyStorage& storage = step_.storages[At(index)];
    ToyStorage piece = {.bytes = storage.bytes};
    const auto add = [&] {
      result.storages.push_back(piece);
      origins_.push_back(index);
    };
    for (const int32_t use : storage.uses) {
      if (const std::optional<int32_t> clone = CloneBefore(index, use)) {
        add();
        piece.uses = {clones_[At(*clone)].at};
      }
      piece.uses.push_back(Moved(use));
    }
    add();
  }

  // The clone that fills the storage's gap before `use`.
  std::optional<int32_t> CloneBefore(int32_t storage, int32_t use) const {
    for (size_t i = 0; i < clone_of_.size(); ++i) {
      if (clone_of_[i] >= 0 && toy_.storages[i] == storage &&
          toy_.model.gaps[i].next == use) {
        return clone_of_[i];
      }
    }
    return std::nullopt;
  }

  void SetOverwritten(int32_t index, ToyStep& result) const {
    const ToyStorage& storage = step_.storages[At(index)];
    if (storage.overwrites < 0) return;
    const int32_t write = storage.uses.front();
    ToyStorage& piece = result.storages[At(PieceAt(index, write, result))];
    piece.overwrites = PieceAt(storage.overwrites, write, result);
  }

  const ToyStep& step_;
  const ToyModel& toy_;
  std::vector<ToyClone> clones_;   // by `before`
  std::vector<int32_t> clone_of_;  // by gap; -1: none
  std::vector<int32_t> origins_;   // by piece
};

class RandomToy {
 public:
  RandomToy(std::mt19937_64& random, int layers)
      : random_(random), layers_(layers) {}

  ToyStep Make() {
    for (int i = 0; i < layers_; ++i) AddForward(i);
    int32_t gradient = -1;
    for (int i = layers_; i-- > 0;) gradient = AddBackward(i, gradient);
    return std::move(step_);
  }

 private:
  bool OneIn(int64_t n) { return Below(random_, n) == 0; }

  int32_t AddStep(StepKind kind) {
    step_.steps.push_back(
        {.ns = kind == StepKind::kCompute ? 1 + Below(random_, 2000) : 0,
         .kind = kind});
    return static_cast<int32_t>(step_.steps.size()) - 1;
  }

  int64_t SomeBytes() {
    return OneIn(2) ? 256 * (1 + Below(random_, 8)) : 1 + Below(random_, 2000);
  }

  int32_t AddStorage(int32_t written, int64_t bytes) {
    step_.storages.push_back({.bytes = bytes, .uses = {written}});
    return static_cast<int32_t>(step_.storages.size()) - 1;
  }

  ToyStorage& storage(int32_t index) { return step_.storages[At(index)]; }

  void Use(int32_t index, int32_t step) {
    std::vector<int32_t>& uses = storage(index).uses;
    if (uses.back() < step) uses.push_back(step);
  }

  void AddForward(int i) {
    int32_t fed = -1;
    if (OneIn(6)) fed = AddStorage(AddStep(StepKind::kFeed), SomeBytes());
    const int32_t kernel = AddStep(StepKind::kCompute);
    if (fed >= 0) Use(fed, kernel);
    feeds_.push_back(fed);
    const int32_t before = i > 0 ? outputs_.back() : -1;
    if (before >= 0) Use(before, kernel);
    if (i > 1 && OneIn(4)) Use(outputs_[At(i - 2)], kernel);
    const bool overwrites = before >= 0 && OneIn(4);
    const int32_t output =
        AddStorage(kernel, overwrites ? storage(before).bytes : SomeBytes());
    if (overwrites) storage(output).overwrites = before;
    outputs_.push_back(output);
    const int64_t kernel_ns = step_.steps[At(kernel)].ns;
    const bool can_remake = !OneIn(6);
    if (can_remake) storage(output).remake_ns = kernel_ns / (OneIn(2) ? 1 : 4);
    int32_t second = -1;
    if (OneIn(5)) {
      second = AddStorage(kernel, SomeBytes());
      storage(second).remake_ns = storage(output).remake_ns;
      storage(second).made_with = output;
      storage(output).made_with = second;
    }
    seconds_.push_back(second);
  }

  // Returns the gradient that it writes.
  int32_t AddBackward(int i, int32_t gradient) {
    if (OneIn(6)) Use(outputs_[At(i)], AddStep(StepKind::kAlias));
    const int32_t kernel = AddStep(StepKind::kCompute);
    if (gradient >= 0) Use(gradient, kernel);
    Use(outputs_[At(i)], kernel);
    if (i > 0 && OneIn(3)) Use(outputs_[At(i - 1)], kernel);
    if (feeds_[At(i)] >= 0) Use(feeds_[At(i)], kernel);
    if (seconds_[At(i)] >= 0) Use(seconds_[At(i)], kernel);
    if (i + 2 < layers_ && OneIn(5)) Use(outputs_[At(i + 2)], kernel);
    return AddStorage(kernel, SomeBytes());
  }

  std::mt19937_64& random_;
  const int layers_;
  ToyStep step_;
  std::vector<int32_t> outputs_, seconds_, feeds_;  // by layer
};

}  // namespace

ToyStep WithClones(const ToyStep& step, const ToyModel& toy,
                   const std::vector<bool>& is_recomputed,
                   const DeviceProfile& profile, std::vector<int32_t>& kept) {
  Cloner cloner(step, toy, is_recomputed);
  ToyStep result = cloner.Run();
  const ToyModel made = ModelOf(result, profile);
  kept.assign(toy.model.gaps.size(), -1);
  for (size_t i = 0; i < kept.size(); ++i) {
    if (is_recomputed[i]) continue;
    const Gap& gap = toy.model.gaps[i];
    const int32_t piece = cloner.PieceAt(toy.storages[i], gap.last, result);
    for (size_t j = 0; j < made.model.gaps.size(); ++j) {
      if (made.storages[j] == piece &&
          made.model.gaps[j].last == cloner.Moved(gap.last)) {
        kept[i] = static_cast<int32_t>(j);
      }
    }
  }
  return result;
}

ToyStep RandomToyStep(std::mt19937_64& random, int layers) {
  return RandomToy(random, layers).Make();
}

}  // namespace spillway::testing
