// Ways to damage a plan, for tests of verifiers.
#ifndef SPILLWAY_TESTS_EXECUTOR_PLAN_PLAN_DAMAGE_H_
#define SPILLWAY_TESTS_EXECUTOR_PLAN_PLAN_DAMAGE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "executor/plan/plan.h"
#include "graph/graph.h"

namespace spillway::testing {

// A plan to be damaged.
struct Patient {
  const Graph& graph;
  ExecutionPlan plan = {};
  std::mt19937_64 random = {};

  uint64_t Below(uint64_t limit) { return random() % limit; }

  // A random item; nothing if `items` is empty.
  template <typename T>
  std::optional<T> AnyOf(const std::vector<T>& items) {
    if (items.empty()) return {};
    return items[Below(items.size())];
  }

  const Node& NodeOf(StepId id) const {
    return graph.node(plan.steps[id].node);
  }

  std::vector<StepId> Steps(const std::function<bool(StepId)>& fits =
                                [](StepId) { return true; }) const {
    std::vector<StepId> ids;
    for (const StepId step : plan.steps.ids()) {
      if (fits(step)) ids.push_back(step);
    }
    return ids;
  }

  std::vector<BufferId> Buffers(
      const std::function<bool(BufferId)>& fits) const {
    std::vector<BufferId> ids;
    for (const BufferId buffer : plan.buffers.ids()) {
      if (fits(buffer)) ids.push_back(buffer);
    }
    return ids;
  }

  // Buffers of at least one byte that steps of the plan write first.
  std::vector<BufferId> Transients() const {
    return Buffers([&](BufferId id) {
      return !IsResident(plan.buffers[id]) && plan.buffers[id].bytes > 0;
    });
  }

  std::vector<BufferId> Residents() const {
    return Buffers([&](BufferId id) { return IsResident(plan.buffers[id]); });
  }
};

// The verdict on a damaged plan; kEither depends on the plan.
enum class Verdict : uint8_t { kFaulty, kValid, kEither };

// Damages a valid plan; false if the plan has nothing to damage in this way.
struct Damage {
  std::string name = {};
  Verdict verdict = Verdict::kFaulty;
  std::function<bool(Patient&)> inflict = nullptr;
};

// Every kind of damage, each with a unique name: to steps and waits
// (order_damage.cc), and to buffers (byte_damage.cc).
std::vector<Damage> Damages();
std::vector<Damage> OrderDamages();
std::vector<Damage> ByteDamages();

// Concatenates the lists.
std::vector<Damage> Joined(const std::vector<std::vector<Damage>>& parts);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_EXECUTOR_PLAN_PLAN_DAMAGE_H_
