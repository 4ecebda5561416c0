#include "tuner/model/materialize.h"

#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "lms/lms.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/tuner/space_case.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using testing::Clonable;
using testing::RandomCase;
using testing::SmallRandomCase;
using testing::SomeFates;
using testing::SpaceOf;
using testing::StressSetting;
using testing::TrainingCase;
using testing::TunerCase;
using testing::ZooCase;

auto Tie(const ModelStep& step) {
  return std::tie(step.node, step.kind, step.ns, step.live_bytes,
                  step.in_place_bytes, step.first_kernel);
}

auto Tie(const CopyOut& copy) {
  return std::tie(copy.value, copy.written, copy.bytes, copy.ns, copy.shared_ns,
                  copy.is_feed);
}

auto Tie(const Gap& gap) {
  return std::tie(gap.storage, gap.copy_out, gap.last, gap.next, gap.kernel,
                  gap.aligned_bytes, gap.copy_in_ns, gap.shared_in_ns,
                  gap.is_movable);
}

template <typename T>
void ExpectSame(const std::vector<T>& a, const std::vector<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(Tie(a[i]), Tie(b[i])) << i;
}

// The model of the materialized step is that of the edited graph, and the edit
// is proven. Returns the number of clones, or -1 if there is no such step.
int CheckEdit(const TunerCase& tuner_case, const RecomputeSpace& space,
              const Fates& fates) {
  const std::optional<Materialized> made = Materialize(space, fates);
  if (!made) return -1;
  const RecomputePlan plan = PlanOf(space, *made);
  const absl::StatusOr<Graph> edited =
      WithClones(plan, tuner_case.ops, tuner_case.graph);
  EXPECT_THAT(edited, testing::IsOk());
  if (!edited.ok()) return -1;
  const Schedule schedule = ScheduleOf(space, *made);
  IdMap<NodeId, bool> keep = tuner_case.keep;
  if (!keep.empty()) keep.resize(edited->num_nodes(), true);
  EXPECT_THAT(CheckSchedule(*edited, keep, schedule), testing::IsOk());
  CompileOptions options = tuner_case.options;
  IdMap<NodeId, int64_t> kernel_ns = tuner_case.kernel_ns;
  kernel_ns.resize(edited->num_nodes());
  if (!options.workspace_bytes.empty()) {
    options.workspace_bytes.resize(edited->num_nodes());
  }
  for (size_t i = 0; i < made->clones.size(); ++i) {
    const NodeId id(tuner_case.graph.num_nodes() + i);
    const Remake& remake = space.remakes[static_cast<size_t>(made->clones[i])];
    kernel_ns[id] = remake.kernel_ns;
    if (!options.workspace_bytes.empty()) {
      options.workspace_bytes[id] = remake.workspace_bytes;
    }
  }
  const StepModel expected =
      MakeStepModel(*edited, tuner_case.ops, schedule, options, kernel_ns,
                    tuner_case.profile);
  const StepModel model = MakeStepModel(made->list, tuner_case.profile);
  ExpectSame(model.steps, expected.steps);
  ExpectSame(model.copies, expected.copies);
  ExpectSame(model.gaps, expected.gaps);
  EXPECT_EQ(model.peak_bytes, expected.peak_bytes);
  EXPECT_EQ(model.kernels_ns, expected.kernels_ns);
  EXPECT_EQ(model.kernels_ns, space.model.kernels_ns + made->recompute_ns);
  return static_cast<int>(made->clones.size());
}

TEST(MaterializeTest, RandomFatesGiveTheModelOfTheEditedGraph) {
  int64_t clones = 0;
  int64_t made = 0;
  const int64_t cases =
      StressSetting("SPILLWAY_STRESS_CASES", testing::NumCases(2000));
  const int64_t first = StressSetting("SPILLWAY_STRESS_SEED", 1);
  for (int64_t i = 0; i < cases && !HasFailure(); ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    SCOPED_TRACE(seed);
    TunerCase tuner_case = seed % 3 == 0   ? SmallRandomCase(seed, 14)
                           : seed % 3 == 1 ? RandomCase(seed, 40)
                                           : TrainingCase(seed, 12);
    if (seed % 4 != 0) tuner_case = Clonable(std::move(tuner_case));
    const RecomputeSpace space = SpaceOf(tuner_case);
    std::mt19937_64 random(seed);
    const int found = CheckEdit(tuner_case, space, SomeFates(space, random));
    if (found < 0) continue;
    ++made;
    clones += found;
  }
  EXPECT_EQ(made, cases);
  EXPECT_GT(clones, 2 * cases);
}

TEST(MaterializeTest, RandomFatesOfNetworksGiveTheModelOfTheEditedGraph) {
  for (const char* name : {"resnet50", "googlenet", "mobilenet_v2"}) {
    SCOPED_TRACE(name);
    const TunerCase tuner_case = ZooCase(name, 224, 2, 10);
    const RecomputeSpace space = SpaceOf(tuner_case);
    std::mt19937_64 random(1);
    int64_t clones = 0;
    for (int i = 0; i < 4 && !HasFailure(); ++i) {
      clones += CheckEdit(tuner_case, space, SomeFates(space, random));
    }
    EXPECT_GT(clones, 100);
  }
}

}  // namespace
}  // namespace spillway
