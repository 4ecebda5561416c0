#include "tuner/model/step_model.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/executor/plan/naive_plan.h"
#include "tests/support/status_matchers.h"
#include "tests/support/toy_ops.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using testing::CaseOf;
using ::testing::IsEmpty;
using testing::LinkOf;
using testing::ModelOf;
using testing::RandomCase;
using ::testing::SizeIs;
using testing::SmallRandomCase;
using testing::ToyOps;
using testing::TunerCase;

constexpr uint64_t kCases = 300;

// A graph whose nodes have one output of `bytes` each.
class Handmade {
 public:
  ValueId Add(std::string name, std::string op, std::vector<ValueId> inputs,
              int64_t bytes = 1000) {
    return graph_.output(graph_.AddNode(
        {.name = std::move(name),
         .op = std::move(op),
         .inputs = std::move(inputs),
         .outputs = {{.dtype = DType::kUInt8, .shape = {bytes}}}}));
  }
  TunerCase Take() && {
    return CaseOf(std::move(graph_), ToyOps(), 10, LinkOf(2, 7));
  }

 private:
  Graph graph_{"handmade"};
};

TEST(StepModelTest, AnExampleWithEveryNumber) {
  // Steps 1 and 4 read w; no step in between does.
  Handmade made;
  const ValueId w = made.Add("w", "F", {}, 1000);
  const ValueId a = made.Add("a", "F", {w}, 300);
  const ValueId b = made.Add("b", "F", {a}, 300);
  const ValueId c = made.Add("c", "F", {b}, 300);
  made.Add("d", "F", {c, w}, 300);
  const StepModel model = ModelOf(std::move(made).Take());
  ASSERT_THAT(model.steps, SizeIs(5));
  ASSERT_THAT(model.gaps, SizeIs(1));
  ASSERT_THAT(model.copies, SizeIs(1));
  const Gap& gap = model.gaps[0];
  EXPECT_EQ(gap.last, 1);
  EXPECT_EQ(gap.next, 4);
  EXPECT_EQ(gap.aligned_bytes, 1024);
  EXPECT_EQ(gap.copy_in_ns, 507);
  EXPECT_TRUE(gap.is_movable);
  EXPECT_EQ(model.copies[0].value, w);
  EXPECT_EQ(model.copies[0].written, 0);
  EXPECT_EQ(model.copies[0].bytes, 1000);
  EXPECT_EQ(model.copies[0].ns, 507);
  const std::vector<int64_t> live = {1024, 1536, 2048, 2048, 2048};
  for (size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(model.steps[k].live_bytes, live[k]) << k;
    EXPECT_EQ(model.steps[k].ns, 10);
  }
  EXPECT_EQ(model.peak_bytes, 2048);
  EXPECT_EQ(model.kernels_ns, 50);
}

TEST(StepModelTest, TheGapsOfAStorageShareTheCopyOfItsRoot) {
  Handmade made;
  const ValueId w = made.Add("w", "F", {});
  const ValueId alias = made.Add("alias", "Alias", {w});
  ValueId last = made.Add("a", "F", {w});
  for (const char* name : {"b", "c"}) last = made.Add(name, "F", {last});
  // Both names are read later, then only the alias.
  last = made.Add("d", "F", {last, w});
  for (const char* name : {"e", "f"}) last = made.Add(name, "F", {last});
  made.Add("g", "F", {last, alias});
  const StepModel model = ModelOf(std::move(made).Take());
  ASSERT_THAT(model.gaps, SizeIs(2));
  EXPECT_EQ(model.gaps[0].last, 2);
  EXPECT_EQ(model.gaps[0].next, 5);
  EXPECT_EQ(model.gaps[1].last, 5);
  EXPECT_EQ(model.gaps[1].next, 8);
  ASSERT_THAT(model.copies, SizeIs(1));
  EXPECT_EQ(model.copies[0].value, w);
  for (const Gap& gap : model.gaps) {
    EXPECT_TRUE(gap.is_movable);
    EXPECT_EQ(gap.copy_out, 0);
  }
}

TEST(StepModelTest, OverwrittenBytesCannotBeMoved) {
  Handmade made;
  const ValueId w = made.Add("w", "F", {});
  ValueId last = made.Add("a", "F", {w});
  for (const char* name : {"b", "c"}) last = made.Add(name, "F", {last});
  const ValueId updated = made.Add("updated", "Update", {w, last});
  for (const char* name : {"d", "e"}) last = made.Add(name, "F", {last});
  made.Add("f", "F", {last, updated});
  const StepModel model = ModelOf(std::move(made).Take());
  ASSERT_THAT(model.gaps, SizeIs(2));
  EXPECT_FALSE(model.gaps[0].is_movable);
  EXPECT_FALSE(model.gaps[1].is_movable);
}

TEST(StepModelTest, ABufferTakenOverHoldsTheBytesThatWereWrittenLast) {
  Handmade made;
  const ValueId w = made.Add("w", "F", {});
  const ValueId over = made.Add("over", "InPlace", {w});
  ValueId last = made.Add("a", "F", {over});
  for (const char* name : {"b", "c"}) last = made.Add(name, "F", {last});
  made.Add("d", "F", {last, over});
  const StepModel model = ModelOf(std::move(made).Take());
  ASSERT_THAT(model.gaps, SizeIs(1));
  EXPECT_TRUE(model.gaps[0].is_movable);
  EXPECT_EQ(model.copies[0].value, over);
  EXPECT_EQ(model.copies[0].written, 1);
}

TEST(StepModelTest, AnOutputThatCouldOverwriteItsInputIsToldApart) {
  Handmade made;
  const ValueId w = made.Add("w", "F", {});
  const ValueId kept = made.Add("kept", "InPlace", {w});  // w is read again
  const ValueId taken = made.Add("taken", "InPlace", {kept});
  made.Add("a", "F", {taken, w});
  const StepModel model = ModelOf(std::move(made).Take());
  const std::vector<int64_t> in_place = {0, 1024, 0, 0};
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(model.steps[k].in_place_bytes, in_place[k]) << k;
  }
}

TEST(StepModelTest, FeedsKnowTheFirstKernelThatReadsThem) {
  Handmade made;
  const ValueId x = made.Add("x", "Placeholder", {}, 500);
  made.Add("unread", "Placeholder", {}, 500);
  made.Add("alias", "Alias", {x}, 500);
  const ValueId a = made.Add("a", "F", {});
  made.Add("b", "F", {a, x});
  const StepModel model = ModelOf(std::move(made).Take());
  ASSERT_THAT(model.steps, SizeIs(5));
  for (const ModelStep& step : model.steps) {
    EXPECT_EQ(step.first_kernel, step.node == NodeId(0) ? 4 : -1);
  }
  EXPECT_EQ(model.steps[0].ns, 257);
  EXPECT_EQ(model.steps[4].ns, 10);
  EXPECT_EQ(model.kernels_ns, 20);
}

TEST(StepModelTest, TheGapsOfAFedTensorNeedNoCopyOut) {
  Handmade made;
  const ValueId x = made.Add("x", "Placeholder", {});
  made.Add("a", "F", {});
  const ValueId alias = made.Add("alias", "Alias", {x});
  ValueId last = made.Add("b", "F", {});
  last = made.Add("c", "F", {last});
  last = made.Add("d", "F", {last, alias});
  last = made.Add("e", "F", {last});
  made.Add("f", "F", {last, alias});
  const StepModel model = ModelOf(std::move(made).Take());
  ASSERT_THAT(model.gaps, SizeIs(3));
  const std::vector<int32_t> last_steps = {0, 2, 5};
  const std::vector<int32_t> kernels = {5, 5, 7};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(model.gaps[i].last, last_steps[i]);
    EXPECT_EQ(model.gaps[i].kernel, kernels[i]);
    const CopyOut& copy =
        model.copies[static_cast<size_t>(model.gaps[i].copy_out)];
    EXPECT_EQ(copy.written, 0);
    EXPECT_EQ(copy.value, x);
    EXPECT_TRUE(copy.is_feed);
    EXPECT_EQ(copy.ns, 0);
  }
}

TEST(StepModelTest, FetchedValuesHaveNoGap) {
  Handmade made;
  const ValueId w = made.Add("w", "F", {});
  ValueId last = made.Add("a", "F", {w});
  for (const char* name : {"b", "c"}) last = made.Add(name, "F", {last});
  made.Add("d", "F", {last, w});
  TunerCase tuner_case = std::move(made).Take();
  EXPECT_THAT(ModelOf(tuner_case).gaps, SizeIs(1));
  tuner_case.options.fetches = {w};
  EXPECT_THAT(ModelOf(tuner_case).gaps, IsEmpty());
}

// last, next, kernel, written, bytes, aligned bytes, is a feed, movable.
using GapKey = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                          bool, bool>;

// Computed from the definitions, over a plan without a budget.
class NaiveModel {
 public:
  NaiveModel(const TunerCase& tuner_case, const ExecutionPlan& plan)
      : graph_(tuner_case.graph), plan_(plan) {}

  std::multiset<GapKey> Gaps() const {
    std::multiset<GapKey> gaps;
    for (const BufferId id : plan_.buffers.ids()) {
      const Buffer& buffer = plan_.buffers[id];
      if (buffer.kind != BufferKind::kTransient ||
          buffer.space != Space::kDevice || testing::IsFetched(plan_, id)) {
        continue;
      }
      const std::vector<StepId> uses = testing::UsesOf(plan_, id);
      for (size_t use = 0; use + 1 < uses.size(); ++use) {
        const int64_t last = uses[use].value();
        const int64_t next = uses[use + 1].value();
        if (next - last > 1) gaps.insert(KeyOf(id, last, next));
      }
    }
    return gaps;
  }

  // The first kernel at or after a step that uses a buffer, or `none`.
  int64_t KernelFrom(BufferId id, int64_t from, int64_t none) const {
    for (const StepId use : testing::UsesOf(plan_, id)) {
      if (use.value() < from) continue;
      if (plan_.steps[use].kind == StepKind::kCompute) return use.value();
    }
    return none;
  }

 private:
  int64_t StepOf(NodeId node) const {
    for (const StepId step : plan_.steps.ids()) {
      if (plan_.steps[step].node == node) return step.value();
    }
    return -1;
  }

  GapKey KeyOf(BufferId id, int64_t last, int64_t next) const {
    int32_t written = -1;
    for (int32_t i = 0; i <= last; ++i) {
      const Step& step = plan_.steps[StepId(i)];
      if (step.kind != StepKind::kAlias &&
          std::ranges::find(step.outputs, id) != step.outputs.end()) {
        written = i;
      }
    }
    const int64_t bytes = plan_.buffers[id].bytes;
    return {last,
            next,
            KernelFrom(id, next, static_cast<int64_t>(plan_.steps.size())),
            written,
            bytes,
            (bytes + 255) / 256 * 256,
            plan_.steps[StepId(written)].kind == StepKind::kFeed,
            IsMovable(NamesReadAfter(id, last))};
  }

  // Whether these are names of the same bytes, and no Update writes them.
  bool IsMovable(const std::vector<ValueId>& names) const {
    std::set<ValueId> roots;
    for (const ValueId name : names) roots.insert(RootOf(name));
    if (roots.size() != 1) return false;
    return std::ranges::none_of(graph_.nodes(), [&](const Node& node) {
      return node.op == "Update" && roots.contains(RootOf(node.inputs[0]));
    });
  }

  ValueId RootOf(ValueId value) const {
    const Node& node = graph_.producer(value);
    const bool is_name = node.op == "Alias" || node.op == "Update";
    return is_name ? RootOf(node.inputs[0]) : value;
  }

  std::vector<ValueId> NamesReadAfter(BufferId id, int64_t last) const {
    std::vector<ValueId> names;
    for (const ValueId value : graph_.values().ids()) {
      if (plan_.buffer_of[value] != id) continue;
      if (StepOf(graph_.value(value).producer) > last) continue;
      const bool is_read = std::ranges::any_of(
          graph_.uses(value),
          [&](const Use& use) { return StepOf(use.node) > last; });
      if (is_read) names.push_back(value);
    }
    return names;
  }

  const Graph& graph_;
  const ExecutionPlan& plan_;
};

std::multiset<GapKey> GapsOf(const StepModel& model) {
  std::multiset<GapKey> gaps;
  for (const Gap& gap : model.gaps) {
    const CopyOut& copy = model.copies[static_cast<size_t>(gap.copy_out)];
    EXPECT_EQ(copy.value.is_valid(), gap.is_movable);
    gaps.insert({gap.last, gap.next, gap.kernel, copy.written, copy.bytes,
                 gap.aligned_bytes, copy.is_feed, gap.is_movable});
  }
  return gaps;
}

void ExpectLiveBytes(const StepModel& model, const ExecutionPlan& plan) {
  IdMap<BufferId, Interval> life;
  for (const BufferId buffer : plan.buffers.ids()) {
    life.push_back(testing::NaiveLife(plan, buffer));
  }
  int64_t peak = plan.resident_bytes;
  for (size_t k = 0; k < model.steps.size(); ++k) {
    const int64_t live = testing::NaiveLiveBytes(plan, Space::kDevice, life,
                                                 static_cast<int64_t>(k));
    EXPECT_EQ(model.steps[k].live_bytes, live) << "step " << k;
    peak = std::max(peak, live);
  }
  EXPECT_EQ(model.peak_bytes, peak);
  EXPECT_EQ(model.peak_bytes, plan.device_lower_bound_bytes);
}

void ExpectSteps(const StepModel& model, const TunerCase& tuner_case,
                 const ExecutionPlan& plan) {
  ASSERT_THAT(model.steps, SizeIs(plan.steps.size()));
  int64_t kernels_ns = 0;
  for (size_t k = 0; k < model.steps.size(); ++k) {
    const Step& step = plan.steps[StepId(k)];
    EXPECT_EQ(model.steps[k].node, step.node);
    EXPECT_EQ(model.steps[k].kind, step.kind);
    const bool is_feed = step.kind == StepKind::kFeed;
    if (step.kind == StepKind::kCompute) {
      EXPECT_EQ(model.steps[k].ns, tuner_case.kernel_ns[step.node]);
      kernels_ns += model.steps[k].ns;
    } else if (!is_feed) {
      EXPECT_EQ(model.steps[k].ns, 0);
    }
    EXPECT_EQ(
        model.steps[k].first_kernel,
        is_feed
            ? NaiveModel(tuner_case, plan).KernelFrom(step.outputs[0], 0, -1)
            : -1);
  }
  EXPECT_EQ(model.kernels_ns, kernels_ns);
}

// Gaps share a copy if, and only if, they belong to the same storage.
void ExpectOneCopyAValue(const StepModel& model) {
  std::set<ValueId> values;
  for (const CopyOut& copy : model.copies) {
    if (!copy.value.is_valid()) continue;
    EXPECT_TRUE(values.insert(copy.value).second) << copy.value.value();
  }
  EXPECT_TRUE(std::ranges::is_sorted(model.gaps, {}, &Gap::last));
}

void ExpectTheTwinsModel(const TunerCase& tuner_case) {
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan,
                       CompilePlan(tuner_case.graph, tuner_case.ops,
                                   tuner_case.schedule, tuner_case.options));
  const StepModel model = ModelOf(tuner_case);
  ExpectSteps(model, tuner_case, plan);
  ExpectLiveBytes(model, plan);
  ExpectOneCopyAValue(model);
  EXPECT_EQ(GapsOf(model), NaiveModel(tuner_case, plan).Gaps());
}

TEST(StepModelTest, RandomStepsAreAsANaiveTwinSays) {
  size_t gaps = 0;
  for (uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const TunerCase tuner_case = RandomCase(seed, 24);
    ExpectTheTwinsModel(tuner_case);
    ExpectTheTwinsModel(SmallRandomCase(seed, 16));
    gaps += ModelOf(tuner_case).gaps.size();
  }
  EXPECT_GT(gaps, 3 * kCases);
}

}  // namespace
}  // namespace spillway
