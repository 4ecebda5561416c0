// Sparse gradients with error feedback, on ranks that are threads.
#include "training/workers/sparse_gradients.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "executor/session/session.h"
#include "gmock/gmock.h"
#include "graph/builder/builder.h"
#include "ops/all_ops.h"
#include "tests/comm/run_ranks.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::Each;
using testing::IsOk;
using testing::RunRanks;
using Floats = std::vector<float>;

// Steps of one rank over gradients that are fed.
class SparseSession {
 public:
  static absl::StatusOr<SparseSession> Create(const Attributes& attributes,
                                              int64_t count,
                                              Communicator& communicator) {
    SparseSession made;
    GraphBuilder g(StandardOps(), "sparse");
    const Tensor x = g.Placeholder("x", DType::kFloat32, {count});
    const Tensor weight = g.Placeholder("weight", DType::kFloat32, {});
    const Tensor residual =
        g.Add(g, {.op = "Variable",
                  .attributes = {{"dtype", DType::kFloat32},
                                 {"shape", Shape({count})},
                                 {"initializer",
                                  AttributeValue::Object{{"kind", "zeros"}}}},
                  .name = "residual"});
    const Tensor y = g.Add(g, {.op = "ErrorFeedbackAllReduce",
                               .inputs = {x, residual, weight},
                               .attributes = attributes,
                               .name = "sum"});
    SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
    SPILLWAY_ASSIGN_OR_RETURN(auto device, NewDevice("inline", {.threads = 1}));
    std::vector<Program> programs;
    programs.push_back({.graph = std::move(graph), .fetches = {y.id()}});
    SPILLWAY_ASSIGN_OR_RETURN(
        made.session_,
        Session::Create(std::move(programs), std::move(device),
                        {.threads = 1, .communicator = &communicator}));
    made.x_ = x.id();
    made.weight_ = weight.id();
    made.sum_ = y.id();
    return made;
  }

  absl::StatusOr<Floats> Sum(const Floats& x, float weight) {
    SPILLWAY_ASSIGN_OR_RETURN(const StepResult result,
                              session_->Step({{x_, x}, {weight_, weight}}));
    SPILLWAY_ASSIGN_OR_RETURN(const HostTensor* const sum, result.tensor(sum_));
    SPILLWAY_ASSIGN_OR_RETURN(const auto span, sum->span<float>());
    return Floats(span.begin(), span.end());
  }

  absl::StatusOr<Floats> Residual() {
    SPILLWAY_ASSIGN_OR_RETURN(const auto variables, session_->ReadVariables());
    SPILLWAY_ASSIGN_OR_RETURN(const auto span,
                              variables.at("residual").span<float>());
    return Floats(span.begin(), span.end());
  }

 private:
  std::unique_ptr<Session> session_;
  ValueId x_;
  ValueId weight_;
  ValueId sum_;
};

// What one rank has seen in its steps.
struct RankHistory {
  std::vector<Floats> gradients = {};
  std::vector<Floats> sums = {};
  std::vector<Floats> residuals = {};  // after each step
};

std::vector<RankHistory> RunSteps(const Attributes& attributes, int ranks,
                                  size_t count, int steps) {
  std::vector<RankHistory> histories(static_cast<size_t>(ranks));
  EXPECT_THAT(
      RunRanks(
          ranks, {},
          [&](Communicator& communicator) -> absl::Status {
            RankHistory& history =
                histories[static_cast<size_t>(communicator.rank())];
            SPILLWAY_ASSIGN_OR_RETURN(
                SparseSession session,
                SparseSession::Create(attributes, static_cast<int64_t>(count),
                                      communicator));
            std::mt19937 random(static_cast<unsigned>(communicator.rank() + 1));
            std::normal_distribution<float> normal;
            for (int step = 0; step < steps; ++step) {
              Floats x(count);
              for (float& element : x) element = normal(random);
              history.gradients.push_back(x);
              SPILLWAY_ASSIGN_OR_RETURN(history.sums.emplace_back(),
                                        session.Sum(x, 1));
              SPILLWAY_ASSIGN_OR_RETURN(history.residuals.emplace_back(),
                                        session.Residual());
            }
            return absl::OkStatus();
          }),
      Each(IsOk()));
  return histories;
}

// gradient + old residual = sent + new residual, bitwise: each element is on
// one side. The sums are those of what the ranks have sent, in their order.
class ConservationTest : public ::testing::TestWithParam<int> {};

TEST_P(ConservationTest, NothingIsLostOrMadeUp) {
  constexpr size_t kCount = 3000;
  const int ranks = GetParam();
  for (const Attributes& attributes :
       {Attributes{{"topk_fraction", 0.01}}, Attributes{{"topk_fraction", 0.3}},
        Attributes{{"min_magnitude", 1.5}}}) {
    const std::vector<RankHistory> histories =
        RunSteps(attributes, ranks, kCount, 6);
    for (size_t step = 0; step < 6; ++step) {
      Floats expected(kCount, 0);
      for (const RankHistory& history : histories) {
        int64_t sent = 0;
        for (size_t i = 0; i < kCount; ++i) {
          const float before = step == 0 ? 0 : history.residuals[step - 1][i];
          const float all = before + history.gradients[step][i];
          const float left = history.residuals[step][i];
          if (left == all) continue;
          ASSERT_EQ(left, 0) << "of " << all;
          ++sent;
          expected[i] += all;
        }
        EXPECT_GT(sent, 0);
        if (attributes.contains("topk_fraction")) {
          EXPECT_EQ(
              sent,
              std::ceil(kCount * attributes.GetReal("topk_fraction").value()));
        }
      }
      for (const RankHistory& history : histories) {
        EXPECT_EQ(history.sums[step], expected);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ConservationTest,
                         ::testing::Values(1, 2, 3, 4, 7));

// 20,000 elements are sent by each of three ranks, of which a round takes
// 8,192 / 4: sums do not depend on it.
TEST(SparseRoundsTest, ManyElementsTakeSeveralRounds) {
  constexpr size_t kCount = 20'000;
  const std::vector<RankHistory> histories =
      RunSteps({{"min_magnitude", 0.0}}, 3, kCount, 1);
  for (const RankHistory& history : histories) {
    EXPECT_THAT(history.residuals[0], Each(0));
    for (size_t i = 0; i < kCount; ++i) {
      float sum = 0;
      for (const RankHistory& other : histories) sum += other.gradients[0][i];
      ASSERT_EQ(history.sums[0][i], sum) << i;
    }
  }
}

// A NaN shows on all ranks at once, and leaves nothing behind.
TEST(SparseNanTest, ANanIsSentFirst) {
  Floats sums;
  EXPECT_THAT(RunRanks(2, {},
                       [&](Communicator& communicator) -> absl::Status {
                         SPILLWAY_ASSIGN_OR_RETURN(
                             SparseSession session,
                             SparseSession::Create({{"topk_fraction", 0.25}}, 4,
                                                   communicator));
                         Floats x = {1, 2, 3, 4};
                         if (communicator.rank() == 1) x[1] = std::nanf("");
                         SPILLWAY_ASSIGN_OR_RETURN(const Floats sum,
                                                   session.Sum(x, 0.5F));
                         SPILLWAY_ASSIGN_OR_RETURN(const Floats left,
                                                   session.Residual());
                         for (const float each : left)
                           EXPECT_FALSE(std::isnan(each));
                         EXPECT_TRUE(std::isnan(sum[1]));
                         EXPECT_EQ(sum[3], 2);
                         return absl::OkStatus();
                       }),
              Each(IsOk()));
}

}  // namespace
}  // namespace spillway
