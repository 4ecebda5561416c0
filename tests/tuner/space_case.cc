#include "tests/tuner/space_case.h"

#include <array>
#include <vector>

#include "graph/well_known_ops.h"
#include "simulator/cost_model.h"
#include "tuner/model/derived_nodes.h"

namespace spillway::testing {

OpDef ClonableOp(const std::string& name) {
  return {
      .name = name,
      .inputs = {"x"},
      .outputs = {"y"},
      .variadic = true,
      .infer =
          [](const InferContext&) -> absl::StatusOr<std::vector<TensorType>> {
        return absl::UnimplementedError("has all its types");
      }};
}

TunerCase Clonable(TunerCase tuner_case) {
  for (const Node& node : tuner_case.graph.nodes()) {
    if (tuner_case.ops.Find(node.op) != nullptr || node.op == kPlaceholder ||
        node.op == "PlanUpdate") {
      continue;
    }
    tuner_case.ops.Add(ClonableOp(node.op));
  }
  return tuner_case;
}

DerivedKernels DerivedKernelsOf(const TunerCase& tuner_case) {
  const DerivedNodes derived =
      AddDerivedNodes(tuner_case.graph, tuner_case.ops);
  if (derived.graph.num_nodes() == tuner_case.graph.num_nodes()) return {};
  const IdMap<NodeId, int64_t> ns =
      EstimateKernelTimes(derived.graph, tuner_case.ops, tuner_case.profile);
  DerivedKernels kernels(tuner_case.graph.num_values());
  for (const ValueId value : kernels.ids()) {
    const NodeId node = derived.node_of[value];
    if (node.is_valid()) kernels[value].ns = ns[node];
  }
  return kernels;
}

RecomputeSpace SpaceOf(const TunerCase& tuner_case) {
  return MakeRecomputeSpace({.graph = tuner_case.graph,
                             .ops = tuner_case.ops,
                             .schedule = tuner_case.schedule,
                             .compile = tuner_case.options,
                             .kernel_ns = tuner_case.kernel_ns,
                             .derived = DerivedKernelsOf(tuner_case),
                             .profile = tuner_case.profile,
                             .recompute = {}});
}

Fates SomeFates(const RecomputeSpace& space, std::mt19937_64& random) {
  constexpr std::array<uint8_t, 4> kReleased = {0, 1, 2, kReleaseAll};
  Fates fates = KeepAll(space);
  for (size_t i = 0; i < space.num_gaps(); ++i) {
    std::vector<Fate> possible = {Fate::kKept};
    if (space.can_recompute[i] != 0) possible.push_back(Fate::kRecomputed);
    if (!space.IsTail(i) && space.model.gaps[i].is_movable) {
      possible.push_back(Fate::kSwapped);
    }
    fates.of_gap[i] = possible[random() % possible.size()];
    fates.released[i] = kReleased[random() % kReleased.size()];
  }
  return fates;
}

}  // namespace spillway::testing
