#include "tuner/model/swap_player.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/executor/plan/plan_cases.h"
#include "tests/support/status_matchers.h"
#include "tests/support/toy_ops.h"
#include "tests/tuner/found_swaps.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/bound/lower_bound.h"
#include "tuner/model/evaluate.h"
#include "tuner/search/edit_for_swaps.h"

namespace spillway {
namespace {

using testing::BudgetBetween;
using testing::CaseOf;
using testing::ChainGraph;
using testing::InputsOf;
using testing::LinkOf;
using testing::ModelOf;
using testing::MovableGaps;
using testing::NaiveLeastBytes;
using testing::SmallRandomCase;
using testing::ToyOps;
using testing::TunerCase;

constexpr int64_t kPlayedBytes = 1024;

// f1 f2 f3 f4 b4 b3 b2 b1, which need 1 2 3 4 5 5 4 3 units; gaps of f1, f2 and
// f3, a byte per nanosecond.
StepModel ChainModel(int64_t kernel_ns) {
  return ModelOf(CaseOf(ChainGraph(4, kPlayedBytes, false), ToyOps(), kernel_ns,
                        LinkOf(1)));
}

TEST(SwapPlayerTest, WithoutMovesTheStepIsItsKernels) {
  const StepModel model = ChainModel(10);
  const PlayedStep played =
      SwapPlayer(model, 5 * kPlayedBytes).Play(MovedGaps(model.gaps.size(), 0));
  ASSERT_TRUE(played.fits);
  EXPECT_EQ(played.step_ns, 80);
  EXPECT_EQ(played.moved_bytes, 0);
}

TEST(SwapPlayerTest, AnExampleWithEveryNumber) {
  // f1 leaves from 10 to 1034, and b4 waits for its bytes; b3; f1 comes back
  // from 1054, when b4's bytes are free, to 2078, and b1 waits for it.
  const StepModel model = ChainModel(10);
  ASSERT_EQ(model.gaps.size(), 3U);
  const PlayedStep played = SwapPlayer(model, 4 * kPlayedBytes).Play({1, 0, 0});
  ASSERT_TRUE(played.fits);
  EXPECT_EQ(played.step_ns, 10 + 1024 + 20 + 1024 + 10);
  EXPECT_EQ(played.moved_bytes, 2 * kPlayedBytes);
  EXPECT_EQ(played.back_after, (std::vector<int32_t>{5, -1, -1}));
  EXPECT_EQ(played.stall_ns[0], (1034 - 40) + (2078 - 1064));
  EXPECT_EQ(played.copy_out_ran_ns[0].begin, 10);
  EXPECT_EQ(played.copy_out_ran_ns[0].end, 1034);
  EXPECT_EQ(played.copy_in_ran_ns[0].begin, 1054);
  EXPECT_EQ(played.copy_in_ran_ns[0].end, 2078);
  EXPECT_EQ(played.step_ran_ns[4].begin, 1034);
  EXPECT_EQ(played.step_ran_ns[7].begin, 2078);
}

TEST(SwapPlayerTest, WithTimeToSpareACopyBackBeginsJustEarlyEnough) {
  const StepModel model = ChainModel(600);
  const PlayedStep played = SwapPlayer(model, 4 * kPlayedBytes).Play({1, 0, 0});
  ASSERT_TRUE(played.fits);
  // Two kernels would hide the copy, but there is room only after b3.
  EXPECT_EQ(played.back_after[0], 5);
  EXPECT_EQ(played.step_ns, 8 * 600 + (6 * 600 + 1024 - 7 * 600));
  const StepModel slow = ChainModel(2000);
  const PlayedStep early = SwapPlayer(slow, 4 * kPlayedBytes).Play({1, 0, 0});
  EXPECT_EQ(early.step_ns, 16000);
  EXPECT_EQ(early.stall_ns[0], 0);
}

// On a CPU, a copy takes cores from the kernels beside it.
TEST(SwapPlayerTest, CopiesSlowKernelsAsInTheSimulator) {
  DeviceProfile profile = LinkOf(1);
  profile.kernel_ns_per_copied_byte = 0.5;
  const TunerCase tuner_case =
      CaseOf(ChainGraph(4, kPlayedBytes, false), ToyOps(), 2000, profile);
  const StepModel model = ModelOf(tuner_case);
  FoundSwaps found = {.moved = {1, 0, 0}};
  found.played = SwapPlayer(model, 4 * kPlayedBytes).Play(found.moved);
  ASSERT_TRUE(found.played.fits);
  // Each of two copies takes 1024 ns, in which a kernel does 1024 / 1.5 ns of
  // its work.
  EXPECT_EQ(found.played.step_ns, 8 * 2000 + 2 * 341);
  SwapEdit edit = EditForSwaps(tuner_case.graph, tuner_case.ops,
                               tuner_case.schedule, model, found);
  ASSERT_OK_AND_ASSIGN(const EvaluatedRecipe evaluated,
                       Evaluate(InputsOf(tuner_case, 4 * kPlayedBytes),
                                {.swaps = std::move(edit.swaps),
                                 .schedule = std::move(edit.schedule)}));
  EXPECT_NEAR(static_cast<double>(evaluated.step.step_ns),
              static_cast<double>(found.played.step_ns), 4);
}

// One choice of gaps of a random step, and how it played.
struct Play {
  const StepModel& model;
  const MovedGaps& moved;
  int64_t budget_bytes = 0;
  PlayedStep played = {};
};

// Whether the bytes fit while kernels run, if every moved tensor is away for
// its whole gap.
bool SumsFit(const Play& play) {
  for (size_t k = 0; k < play.model.steps.size(); ++k) {
    int64_t bytes = play.model.steps[k].live_bytes;
    for (size_t i = 0; i < play.moved.size(); ++i) {
      if (play.moved[i] != 0 &&
          Spans(play.model.gaps[i], static_cast<int32_t>(k))) {
        bytes -= play.model.gaps[i].aligned_bytes;
      }
    }
    if (bytes > play.budget_bytes) return false;
  }
  return true;
}

int64_t MovedBytes(const Play& play) {
  int64_t bytes = 0;
  std::vector<bool> is_out(play.model.copies.size(), false);
  for (size_t i = 0; i < play.moved.size(); ++i) {
    if (play.moved[i] == 0) continue;
    const auto copy = static_cast<size_t>(play.model.gaps[i].copy_out);
    const auto written = static_cast<size_t>(play.model.copies[copy].written);
    const bool is_fed = play.model.steps[written].kind == StepKind::kFeed;
    bytes += play.model.copies[copy].bytes * (is_out[copy] || is_fed ? 1 : 2);
    is_out[copy] = true;
  }
  return bytes;
}

// Copies run after their inputs exist and before their readers, one at a time.
void ExpectCopiesInOrder(const Play& play) {
  const PlayedStep& played = play.played;
  for (size_t i = 0; i < play.moved.size(); ++i) {
    if (play.moved[i] == 0) {
      EXPECT_EQ(played.back_after[i], -1);
      EXPECT_EQ(played.stall_ns[i], 0);
      continue;
    }
    const Gap& gap = play.model.gaps[i];
    const auto copy_index = static_cast<size_t>(gap.copy_out);
    const CopyOut& copy = play.model.copies[copy_index];
    const Interval& out = played.copy_out_ran_ns[copy_index];
    const Interval& in = played.copy_in_ran_ns[i];
    EXPECT_GE(out.length(), copy.ns);
    EXPECT_LE(out.length(), copy.shared_ns);
    EXPECT_GE(in.length(), gap.copy_in_ns);
    EXPECT_LE(in.length(), gap.shared_in_ns);
    EXPECT_GE(out.begin,
              played.step_ran_ns[static_cast<size_t>(copy.written)].end);
    EXPECT_GE(in.begin, out.end);
    EXPECT_GT(played.back_after[i], gap.last);
    EXPECT_LT(played.back_after[i], gap.next);
    const auto after = static_cast<size_t>(played.back_after[i]);
    EXPECT_GE(in.begin, played.step_ran_ns[after].end);
    const auto next = static_cast<size_t>(gap.next);
    if (play.model.steps[next].kind != StepKind::kFeed) {
      EXPECT_GE(played.step_ran_ns[next].begin, in.end);
    }
    EXPECT_GE(played.stall_ns[i], 0);
  }
}

// Copies of one direction share a lane; feeds are copies to the device.
void ExpectOneAtATime(std::vector<Interval> ran) {
  std::erase_if(ran, [](const Interval& time) { return time.empty(); });
  std::ranges::sort(ran, {}, &Interval::begin);
  for (size_t i = 0; i + 1 < ran.size(); ++i) {
    EXPECT_LE(ran[i].end, ran[i + 1].begin);
  }
}

void ExpectLanes(const Play& play) {
  std::vector<Interval> in = play.played.copy_in_ran_ns;
  std::vector<Interval> kernels;
  for (size_t k = 0; k < play.model.steps.size(); ++k) {
    const bool is_fed = play.model.steps[k].kind == StepKind::kFeed;
    (is_fed ? in : kernels).push_back(play.played.step_ran_ns[k]);
  }
  ExpectOneAtATime(std::move(in));
  ExpectOneAtATime(std::move(kernels));
  ExpectOneAtATime(play.played.copy_out_ran_ns);
}

// When a kernel begins, there is room for its bytes and for the tensors that
// have not left yet or are on their way back.
void ExpectRoom(const Play& play) {
  for (size_t k = 0; k < play.model.steps.size(); ++k) {
    const ModelStep& step = play.model.steps[k];
    if (step.kind != StepKind::kCompute) continue;
    const int64_t now = play.played.step_ran_ns[k].begin;
    int64_t bytes = step.live_bytes;
    for (size_t i = 0; i < play.moved.size(); ++i) {
      const Gap& gap = play.model.gaps[i];
      if (play.moved[i] == 0 || !Spans(gap, static_cast<int32_t>(k))) continue;
      const bool has_left =
          play.played.copy_out_ran_ns[static_cast<size_t>(gap.copy_out)].end <=
          now;
      const int64_t back_ns = play.played.copy_in_ran_ns[i].begin;
      const bool comes_back =
          back_ns < now || (back_ns == now && play.played.back_after[i] <
                                                  static_cast<int32_t>(k));
      if (has_left && !comes_back) bytes -= gap.aligned_bytes;
    }
    EXPECT_LE(bytes, play.budget_bytes) << "step " << k;
  }
}

// The compute lane is idle only where the stalls say, except for feeds.
void ExpectStallsAddUp(const Play& play) {
  int64_t end_ns = 0;
  int64_t stall_ns = 0;
  bool has_feeds = false;
  for (size_t k = 0; k < play.model.steps.size(); ++k) {
    has_feeds |= play.model.steps[k].kind == StepKind::kFeed;
    if (play.model.steps[k].kind != StepKind::kFeed) {
      end_ns = play.played.step_ran_ns[k].end;
    }
  }
  for (const int64_t ns : play.played.stall_ns) stall_ns += ns;
  if (has_feeds) {
    EXPECT_GE(end_ns, play.model.kernels_ns);
  } else {
    EXPECT_EQ(end_ns, play.model.kernels_ns + stall_ns);
  }
  EXPECT_GE(play.played.step_ns, end_ns);
}

void ExpectSound(const TunerCase& tuner_case, const Play& play) {
  EXPECT_EQ(play.played.fits, SumsFit(play));
  if (!play.played.fits) return;
  EXPECT_EQ(play.played.moved_bytes, MovedBytes(play));
  ExpectCopiesInOrder(play);
  ExpectLanes(play);
  ExpectRoom(play);
  ExpectStallsAddUp(play);
  EXPECT_GE(
      play.played.step_ns,
      LowerBound(play.model, tuner_case.profile, play.budget_bytes).step_ns);
}

// Copies that share the link with one in the other direction for a while.
int NumSlowed(const Play& play) {
  if (!play.played.fits) return 0;
  int slowed = 0;
  for (size_t i = 0; i < play.moved.size(); ++i) {
    if (play.moved[i] == 0) continue;
    const Gap& gap = play.model.gaps[i];
    slowed += play.played.copy_in_ran_ns[i].length() > gap.copy_in_ns ? 1 : 0;
  }
  return slowed;
}

TEST(SwapPlayerTest, RandomChoicesPlaySoundly) {
  int fitting = 0;
  int slowed = 0;
  int stalling = 0;
  for (uint64_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    TunerCase tuner_case =
        SmallRandomCase(seed, static_cast<int>(8 + seed % 20));
    tuner_case.profile.issue_ns = 0;  // the player has no issue time
    const StepModel model = ModelOf(tuner_case);
    const std::vector<size_t> gaps = MovableGaps(model);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 20; ++i) {
      const int64_t budget =
          BudgetBetween(NaiveLeastBytes(model), model.peak_bytes, i % 5, 5);
      // Few tensors stay, so that small budgets are sometimes met.
      const MovedGaps moved =
          testing::ChoiceOf(model, gaps, random() | random() | random());
      SCOPED_TRACE(::testing::Message() << "choice " << i);
      const Play play = {.model = model,
                         .moved = moved,
                         .budget_bytes = budget,
                         .played = SwapPlayer(model, budget).Play(moved)};
      ExpectSound(tuner_case, play);
      fitting += play.played.fits ? 1 : 0;
      slowed += NumSlowed(play);
      stalling += std::ranges::any_of(play.played.stall_ns,
                                      [](int64_t ns) { return ns > 0; })
                      ? 1
                      : 0;
    }
  }
  EXPECT_GT(fitting, 3000);
  EXPECT_GT(slowed, 100);
  EXPECT_GT(stalling, 1000);
}

}  // namespace
}  // namespace spillway
