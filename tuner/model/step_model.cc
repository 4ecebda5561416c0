#include "tuner/model/step_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/units.h"
#include "executor/plan/floor.h"
#include "executor/plan/lifetimes.h"
#include "executor/plan/lower.h"
#include "graph/storage.h"

namespace spillway {
namespace {

// A use of a buffer by a step.
struct Access {
  int32_t step = 0;
  bool writes = false;
  bool is_kernel = false;
};

class Modeller {
 public:
  Modeller(const Graph& graph, const OpRegistry& ops, ExecutionPlan plan,
           const IdMap<NodeId, int64_t>& kernel_ns,
           const DeviceProfile& profile)
      : graph_(graph),
        ops_(ops),
        plan_(std::move(plan)),
        kernel_ns_(kernel_ns),
        profile_(profile),
        storages_(StorageMap::Of(graph, ops)),
        accesses_(plan_.buffers.size()),
        values_(plan_.buffers.size()),
        step_of_(graph.num_nodes(), -1),
        copy_of_(graph.num_values(), -1) {}

  StepModel Run() {
    AddSteps();
    FindFirstReaders();
    CountLiveBytes();
    for (const ValueId value : plan_.buffer_of.ids()) {
      const BufferId buffer = plan_.buffer_of[value];
      if (buffer.is_valid()) values_[buffer].push_back(value);
    }
    for (const ValueId fetch : plan_.fetches) {
      accesses_[plan_.buffer_of[fetch]].clear();  // stays until the end
    }
    for (const BufferId buffer : plan_.buffers.ids()) AddGaps(buffer);
    std::ranges::stable_sort(model_.gaps, {}, &Gap::last);
    return std::move(model_);
  }

 private:
  void AddSteps() {
    for (const StepId id : plan_.steps.ids()) {
      const Step& step = plan_.steps[id];
      ModelStep& added = model_.steps.emplace_back();
      added.node = step.node;
      added.kind = step.kind;
      if (step.kind == StepKind::kCompute) added.ns = kernel_ns_[step.node];
      if (step.kind == StepKind::kFeed) {
        added.ns =
            CopyNs(profile_.to_device, plan_.buffers[step.outputs[0]].bytes);
      } else {
        model_.kernels_ns += added.ns;
      }
      added.in_place_bytes = InPlaceBytes(plan_, step, graph_, ops_);
      step_of_[step.node] = id.value();
      AddAccesses(step, id.value());
    }
  }

  void AddAccesses(const Step& step, int32_t at) {
    const auto add = [&](BufferId buffer, bool writes) {
      std::vector<Access>& accesses = accesses_[buffer];
      if (accesses.empty() || accesses.back().step != at) {
        accesses.push_back({.step = at});
      }
      accesses.back().writes |= writes;
      accesses.back().is_kernel = step.kind == StepKind::kCompute;
    };
    for (const BufferId input : step.inputs) add(input, false);
    for (const BufferId output : step.outputs) {
      add(output, step.kind != StepKind::kAlias);
    }
  }

  void FindFirstReaders() {
    for (size_t i = 0; i < model_.steps.size(); ++i) {
      if (model_.steps[i].kind != StepKind::kFeed) continue;
      const BufferId fed = plan_.steps[StepId(i)].outputs[0];
      const auto first =
          std::ranges::find_if(accesses_[fed], &Access::is_kernel);
      if (first != accesses_[fed].end()) {
        model_.steps[i].first_kernel = first->step;
      }
    }
  }

  void CountLiveBytes() {
    const Lifetimes lifetimes = FindLifetimes(plan_);
    std::vector<int64_t> change(plan_.steps.size() + 1, 0);
    for (const BufferId id : plan_.buffers.ids()) {
      const Interval& life = lifetimes.of[id];
      const Buffer& buffer = plan_.buffers[id];
      if (life.empty() || buffer.space != Space::kDevice) continue;
      const int64_t bytes = AlignUp(buffer.bytes, kBufferAlignment);
      change[static_cast<size_t>(life.begin)] += bytes;
      change[static_cast<size_t>(life.end)] -= bytes;
    }
    int64_t live = plan_.resident_bytes;
    model_.peak_bytes = live;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      live += change[i];
      model_.steps[i].live_bytes = live;
      model_.peak_bytes = std::max(model_.peak_bytes, live);
    }
  }

  void AddGaps(BufferId id) {
    const Buffer& buffer = plan_.buffers[id];
    if (buffer.kind != BufferKind::kTransient ||
        buffer.space != Space::kDevice) {
      return;
    }
    const std::vector<Access>& accesses = accesses_[id];
    const std::vector<int32_t> kernels = KernelsFrom(accesses);
    int32_t written = -1;
    for (size_t i = 0; i + 1 < accesses.size(); ++i) {
      if (accesses[i].writes) written = accesses[i].step;
      const int32_t last = accesses[i].step;
      const int32_t next = accesses[i + 1].step;
      if (next - last < 2) continue;
      const std::optional<ValueId> value = ReadAfter(id, last);
      model_.gaps.push_back(
          {.copy_out = CopyOutOf(buffer, value, written),
           .last = last,
           .next = next,
           .kernel = kernels[i + 1],
           .aligned_bytes = AlignUp(buffer.bytes, kBufferAlignment),
           .copy_in_ns = CopyNs(profile_.to_device, buffer.bytes),
           .is_movable = value.has_value()});
    }
  }

  // By access: the first kernel at or after it.
  std::vector<int32_t> KernelsFrom(const std::vector<Access>& accesses) const {
    auto kernel = static_cast<int32_t>(plan_.steps.size());
    std::vector<int32_t> kernels(accesses.size() + 1, kernel);
    for (size_t i = accesses.size(); i-- > 0;) {
      if (accesses[i].is_kernel) kernel = accesses[i].step;
      kernels[i] = kernel;
    }
    return kernels;
  }

  // The root of the one storage that exists at `last` already and is read
  // later, if a copy can replace it.
  std::optional<ValueId> ReadAfter(BufferId id, int32_t last) const {
    std::optional<ValueId> found;
    for (const ValueId value : values_[id]) {
      if (step_of_[graph_.value(value).producer] > last) continue;
      const bool is_read = std::ranges::any_of(
          graph_.uses(value),
          [&](const Use& use) { return step_of_[use.node] > last; });
      if (!is_read) continue;
      const Storage& storage = storages_.of(value);
      if (found && *found != storage.root) return std::nullopt;
      if (!storage.can_be_copied()) return std::nullopt;
      found = storage.root;
    }
    return found;
  }

  int32_t CopyOutOf(const Buffer& buffer, std::optional<ValueId> value,
                    int32_t written) {
    if (value && copy_of_[*value] >= 0) return copy_of_[*value];
    const auto added = static_cast<int32_t>(model_.copies.size());
    const bool is_feed =
        model_.steps[static_cast<size_t>(written)].kind == StepKind::kFeed;
    model_.copies.push_back(
        {.value = value.value_or(ValueId()),
         .written = written,
         .bytes = buffer.bytes,
         .ns = is_feed ? 0 : CopyNs(profile_.to_host, buffer.bytes),
         .is_feed = is_feed});
    if (value) copy_of_[*value] = added;
    return added;
  }

  const Graph& graph_;
  const OpRegistry& ops_;
  const ExecutionPlan plan_;
  const IdMap<NodeId, int64_t>& kernel_ns_;
  const DeviceProfile& profile_;
  const StorageMap storages_;
  IdMap<BufferId, std::vector<Access>> accesses_;
  IdMap<BufferId, std::vector<ValueId>> values_;
  IdMap<NodeId, int32_t> step_of_;   // -1: no step
  IdMap<ValueId, int32_t> copy_of_;  // of a root; -1: no copy yet
  StepModel model_;
};

}  // namespace

StepModel MakeStepModel(const Graph& graph, const OpRegistry& ops,
                        const Schedule& schedule, const CompileOptions& options,
                        const IdMap<NodeId, int64_t>& kernel_ns,
                        const DeviceProfile& profile) {
  return Modeller(graph, ops, LowerToSteps(graph, ops, schedule, options).plan,
                  kernel_ns, profile)
      .Run();
}

}  // namespace spillway
