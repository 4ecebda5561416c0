// Steps for tuning: a graph, its order, times and a machine, made from a seed
// or by hand.
#ifndef SPILLWAY_TESTS_TUNER_TUNER_CASE_H_
#define SPILLWAY_TESTS_TUNER_TUNER_CASE_H_

#include <cstdint>
#include <optional>
#include <random>
#include <string_view>

#include "executor/plan/compile.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"
#include "simulator/device_profile.h"
#include "tuner/model/evaluate.h"
#include "tuner/model/step_model.h"

namespace spillway::testing {

// Has no budget; residents are placed.
struct TunerCase {
  Graph graph = {};
  OpRegistry ops = {};
  IdMap<NodeId, bool> keep = {};
  Schedule schedule = {};
  CompileOptions options = {};
  IdMap<NodeId, int64_t> kernel_ns = {};
  DeviceProfile profile = {};
};

// The same rate in both directions, also while the other direction copies.
DeviceProfile LinkOf(double bytes_per_ns, int64_t latency_ns = 0,
                     int64_t issue_ns = 0);

// The whole graph in creation order; each kernel takes `kernel_ns`.
TunerCase CaseOf(Graph graph, OpRegistry ops, int64_t kernel_ns,
                 const DeviceProfile& profile);

// A chain of `nodes` nodes. Most of them also read an earlier value, often one
// of the first. Includes fed tensors, aliases, in-place nodes and nodes with
// two outputs; times and rates are random.
TunerCase SmallRandomCase(uint64_t seed, int nodes);

// tests/executor/plan/random_plan_case.h without swaps: residents, scratch,
// fetches, control edges.
TunerCase RandomCase(uint64_t seed, int nodes);

// tests/support/random_graph.h on a slow link.
TunerCase TrainingCase(uint64_t seed, int forward_nodes);

// A network of the zoo, trained with momentum, on a P100. `link_gbps`: in each
// direction.
TunerCase ZooCase(std::string_view model, int64_t image_size,
                  int64_t batch_size, double link_gbps);

// Borrows the case.
TunerInputs InputsOf(const TunerCase& tuner_case,
                     std::optional<int64_t> budget_bytes);
StepModel ModelOf(const TunerCase& tuner_case);

// The smallest budget that any choice of swaps can have; gaps that are not
// movable stay on the device.
int64_t NaiveLeastBytes(const StepModel& model);

// The `i`-th of `n` budgets from `least` to `most`, both inclusive.
int64_t BudgetBetween(int64_t least, int64_t most, int i, int n);

// Replaces std:: distributions, which differ between libraries.
inline int64_t Below(std::mt19937_64& random, int64_t limit) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TUNER_TUNER_CASE_H_
