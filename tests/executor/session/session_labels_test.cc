// Labels out of range: every device refuses a fed label before the step runs;
// for a label that the graph computes, the CPU kernel returns an error.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "models/layers/layers.h"
#include "tests/support/new_session.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::NewSession;
using testing::StatusIs;

using testing::kInvalid;
using testing::kPrecondition;
constexpr int64_t kRows = 4;
constexpr int64_t kClasses = 10;

// One layer and its training; the labels are fed and reach the loss directly,
// through aliases, through a swap, or by a cast from floats.
enum class LabelsBy { kThemselves, kOtherNames, kSwap, kCast };

struct Model {
  explicit Model(LabelsBy by) : g(StandardOps(), "labels") {
    x = g.Placeholder("x", DType::kFloat32, {kRows, 3});
    const Tensor logits = Dense(g.Scope("fc"), x, {.units = kClasses});
    loss = SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, Labels(by));
    Minimize(g.Scope("optimizer"), loss, Sgd{.learning_rate = 0.1});
  }
  Program Build() && {
    return {.graph = std::move(g).Build().value(), .fetches = {loss.id()}};
  }

  GraphBuilder g;
  Tensor x, labels, loss;

 private:
  Tensor Labels(LabelsBy by) {
    const bool is_matrix = by == LabelsBy::kOtherNames;
    labels = g.Placeholder(
        "labels", by == LabelsBy::kCast ? DType::kFloat32 : DType::kInt32,
        is_matrix ? Shape({2, 2}) : Shape({kRows}));
    if (by == LabelsBy::kOtherNames) {
      return Add("Reshape", Add("Identity", labels),
                 {{"shape", Shape({kRows})}});
    }
    if (by == LabelsBy::kSwap) return Add(kSwapIn, Add(kSwapOut, labels));
    if (by == LabelsBy::kCast) {
      return Add("Cast", labels, {{"dtype", DType::kInt32}});
    }
    return labels;
  }
  Tensor Add(std::string_view op, Tensor x, Attributes attributes = {}) {
    return g.Add(g, {.op = std::string(op),
                     .inputs = {x},
                     .attributes = std::move(attributes)});
  }
};

struct LabelsCase {
  std::string device = {};
  bool check_memory = false;
};

class SessionLabelsTest : public ::testing::TestWithParam<LabelsCase> {
 protected:
  void Open(Program program) {
    ASSERT_OK_AND_ASSIGN(session_,
                         NewSession(std::move(program),
                                    {.device = GetParam().device,
                                     .seed = 3,
                                     .check_memory = GetParam().check_memory}));
  }
  template <typename T>
  absl::Status Step(const Model& model, const std::vector<T>& labels) {
    return session_->Step({{model.x, x_}, {model.labels, labels}}).status();
  }
  std::string VariablesNow() {
    return Checksum(session_->ReadVariables().value());
  }

  // A refused step changes nothing.
  void ExpectRefused(const Model& model, const std::vector<int32_t>& labels,
                     const std::string& message) {
    const std::string before = VariablesNow();
    EXPECT_THAT(Step(model, labels), StatusIs(kInvalid, message));
    EXPECT_EQ(VariablesNow(), before);
    const std::vector<int64_t> steps = session_->step_numbers();
    ASSERT_THAT(Step(model, std::vector<int32_t>{0, 9, 4, 5}), IsOk());
    EXPECT_NE(VariablesNow(), before);
    EXPECT_EQ(session_->step_numbers()[0], steps[0] + 1);
  }

  const std::vector<float> x_ = std::vector<float>(kRows * 3, 0.5F);
  std::unique_ptr<Session> session_;
};

TEST_P(SessionLabelsTest, FedLabelsOutOfRangeLeaveTheSessionAsItWas) {
  for (const LabelsBy by :
       {LabelsBy::kThemselves, LabelsBy::kOtherNames, LabelsBy::kSwap}) {
    const Model model(by);
    Open(Model(by).Build());
    ExpectRefused(model, {0, 1, 2, 12},
                  "feed labels: element 3 is 12; "
                  "loss/SparseSoftmaxCrossEntropyWithLogits needs a number in "
                  "[0, 10)");
    ExpectRefused(model, {0, 10, 2, 12},
                  "feed labels: element 1 is 10; "
                  "loss/SparseSoftmaxCrossEntropyWithLogits needs a number in "
                  "[0, 10)");
    ExpectRefused(model, {-1, 10, 2, 12},
                  "feed labels: element 0 is -1; "
                  "loss/SparseSoftmaxCrossEntropyWithLogits needs a number in "
                  "[0, 10)");
  }
}

TEST_P(SessionLabelsTest, ComputedLabelsOutOfRangeEndTheStep) {
  const Model model(LabelsBy::kCast);
  Open(Model(LabelsBy::kCast).Build());
  ASSERT_OK_AND_ASSIGN(const auto saved, session_->ReadVariables());
  const std::vector<float> good = {0, 9, 4, 5};
  EXPECT_THAT(Step(model, std::vector<float>{0, 9, 4, 10}),
              StatusIs(kInvalid,
                       "loss/SparseSoftmaxCrossEntropyWithLogits: row 3 has "
                       "the label 10; the logits have 10 classes"));
  EXPECT_THAT(Step(model, good),
              StatusIs(kPrecondition,
                       AllOf(HasSubstr("undefined"), HasSubstr("row 3"))));
  ASSERT_THAT(session_->WriteVariables(saved), IsOk());
  EXPECT_THAT(Step(model, good), IsOk());
}

// InTopK accepts any label, and a loss that is not computed has no limit.
TEST_P(SessionLabelsTest, WhereNothingIndexesAnyLabelIsFed) {
  GraphBuilder g(StandardOps(), "top");
  const Tensor x = g.Placeholder("x", DType::kFloat32, {kRows, kClasses});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {kRows});
  const Tensor hit = InTopK(g.Scope("hit"), x, labels, 1);
  SparseSoftmaxCrossEntropy(g.Scope("loss"), x, labels);
  Open({.graph = std::move(g).Build().value(), .fetches = {hit.id()}});
  const std::vector<float> predictions(kRows * kClasses);
  EXPECT_THAT(session_->Step({{x, predictions},
                              {labels, std::vector<int32_t>{-1, 0, 10, 3}}}),
              IsOk());
}

INSTANTIATE_TEST_SUITE_P(
    CpuBackends, SessionLabelsTest,
    ::testing::Values(LabelsCase{.device = "inline"},
                      LabelsCase{.device = "cpu"},
                      LabelsCase{.device = "inline", .check_memory = true},
                      LabelsCase{.device = "cpu", .check_memory = true}));

}  // namespace
}  // namespace spillway
