// The contract of sessions for programs, feeds, fetches and variables, with ops
// made for the tests. session_training_test.cc tests results of the real ops.
#include "executor/session/session.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/order/schedule.h"
#include "tests/executor/toy_session.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::_;
using ::testing::AllOf;
using testing::ConstantOf;
using ::testing::ElementsAre;
using testing::EvalProgram;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kElements;
using ::testing::Pair;
using testing::StatusIs;
using testing::ToySessionCase;
using testing::TrainProgram;

using testing::kInvalid;

using SessionTest = testing::ToySessionTest;

HostTensor Zeros() {
  HostTensor zeros;
  zeros.type.shape = Shape({kElements});
  zeros.bytes.resize(4 * kElements);
  return zeros;
}

TEST_P(SessionTest, StepsReturnFetchesAndKeepVariables) {
  const std::unique_ptr<Session> session = NewTrainSession();
  ASSERT_OK_AND_ASSIGN(const StepResult first,
                       session->Step({{ids_.x.id(), Filled(1)}}));
  EXPECT_EQ(Only(first.fetched.at(ids_.product.id())), 2);
  EXPECT_EQ(Only(first.fetched.at(ids_.updated.id())), 8);  // 10 - 1 * 2
  ASSERT_OK_AND_ASSIGN(const StepResult second,
                       session->Step({{ids_.x.id(), Filled(3)}}));
  EXPECT_EQ(Only(second.fetched.at(ids_.updated.id())), 2);  // 8 - 3 * 2
  EXPECT_EQ(second.fetched.at(ids_.updated.id()).type.ToString(),
            "float32[64]");
}

// One arena serves both; for w and z, neither the second program's own
// initialiser (99) nor the first one's constant (2) is used.
TEST_P(SessionTest, ProgramsShareVariablesButNotConstants) {
  EvalProgram eval(ops_);
  const Tensor x = eval.x;
  const Tensor y = eval.y;
  const Tensor z = eval.z;
  std::vector<Program> programs;
  programs.push_back(TrainProgram(ops_).Build());
  programs.push_back(std::move(eval).Build());
  ASSERT_OK_AND_ASSIGN(const auto session, NewSession(std::move(programs)));
  for (int round = 1; round <= 3; ++round) {
    ASSERT_THAT(session->Step(0, {{ids_.x.id(), Filled(1)}}), IsOk());
    ASSERT_OK_AND_ASSIGN(const StepResult result,
                         session->Step(1, {{x.id(), Filled(100)}}));
    EXPECT_EQ(Only(result.fetched.at(y.id())),
              100 * static_cast<float>(10 - 2 * round));
    EXPECT_EQ(Only(result.fetched.at(z.id())), 500);
  }
  EXPECT_EQ(
      session->memory().predicted_device_bytes,
      std::max(session->plan(0)->device_bytes, session->plan(1)->device_bytes));
  EXPECT_EQ(session->memory().measured_device_bytes,
            session->memory().predicted_device_bytes);
}

TEST_P(SessionTest, EachProgramCountsItsOwnSteps) {
  EvalProgram eval(ops_);
  const Tensor x = eval.x;
  const Tensor noisy = eval.noisy;
  std::vector<Program> programs;
  programs.push_back(TrainProgram(ops_).Build());
  programs.push_back(std::move(eval).Build());
  ASSERT_OK_AND_ASSIGN(const auto session,
                       NewSession(std::move(programs), {.seed = 4}));
  for (int step = 0; step < 3; ++step) {
    ASSERT_THAT(session->Step(0, {{ids_.x.id(), Filled(0)}}), IsOk());
    ASSERT_OK_AND_ASSIGN(const StepResult result,
                         session->Step(1, {{x.id(), Filled(0)}}));
    EXPECT_EQ(Only(result.fetched.at(noisy.id())),
              4000 + static_cast<float>(step));
  }
}

TEST_P(SessionTest, FeedsThatDoNotFitAreRefusedByName) {
  const std::unique_ptr<Session> session = NewTrainSession();
  const ValueId x = ids_.x.id();
  EXPECT_THAT(session->Step({}),
              StatusIs(kInvalid, HasSubstr("feed x (float32[64]) is missing")));
  EXPECT_THAT(
      session->Step({{x, Filled(1, 65)}}),
      StatusIs(kInvalid,
               HasSubstr("feed x: expected float32[64], got float32[65]")));
  EXPECT_THAT(session->Step({{x, TensorView{.type = Filled(1).type}}}),
              StatusIs(kInvalid, HasSubstr("feed x: has no data")));
  EXPECT_THAT(
      session->Step({{x, Filled(1)}, {ids_.product.id(), Filled(1)}}),
      StatusIs(kInvalid,
               HasSubstr("product:0 is not a Placeholder but the output of a "
                         "Mul")));
  EXPECT_THAT(session->Step({{x, Filled(1)}, {ValueId(77), Filled(1)}}),
              StatusIs(kInvalid, HasSubstr("value 77")));
  // None of these steps has run.
  ASSERT_OK_AND_ASSIGN(const auto variables, session->ReadVariables());
  EXPECT_EQ(Only(variables.at("w")), 10);
}

TEST_P(SessionTest, APlaceholderThatTheStepDoesNotNeedMayBeFed) {
  const std::unique_ptr<Session> session = NewTrainSession();
  EXPECT_THAT(
      session->Step({{ids_.x.id(), Filled(1)}, {ids_.unused.id(), Filled(1)}}),
      IsOk());
}

TEST_P(SessionTest, VariablesCanBeReadAndOverwritten) {
  const std::unique_ptr<Session> session = NewTrainSession();
  ASSERT_OK_AND_ASSIGN(auto variables, session->ReadVariables());
  ASSERT_THAT(variables, ElementsAre(Pair("w", _)));
  EXPECT_EQ(Only(variables.at("w")), 10);

  const TensorView filled = Filled(50);
  const auto* bytes = static_cast<const std::byte*>(filled.data);
  variables.at("w").bytes.assign(bytes, bytes + filled.type.num_bytes());
  ASSERT_THAT(session->WriteVariables(variables), IsOk());
  ASSERT_OK_AND_ASSIGN(const StepResult result,
                       session->Step({{ids_.x.id(), Filled(1)}}));
  EXPECT_EQ(Only(result.fetched.at(ids_.updated.id())), 48);
}

TEST_P(SessionTest, WritesThatDoNotFitChangeNothing) {
  const std::unique_ptr<Session> session = NewTrainSession();
  const HostTensor zeros = Zeros();
  HostTensor other_type = zeros;
  other_type.type.dtype = DType::kInt32;
  HostTensor too_short = zeros;
  too_short.bytes.pop_back();
  EXPECT_THAT(session->WriteVariables({{"w", zeros}, {"x", zeros}}),
              StatusIs(kInvalid, HasSubstr("no variable x")));
  EXPECT_THAT(session->WriteVariables({{"w", zeros}, {"c", zeros}}),
              StatusIs(kInvalid, HasSubstr("no variable c")));
  EXPECT_THAT(session->WriteVariables({{"w", other_type}}),
              StatusIs(kInvalid, HasSubstr("w is float32[64], not int32[64]")));
  EXPECT_THAT(session->WriteVariables({{"w", too_short}}),
              StatusIs(kInvalid, HasSubstr("256 bytes, not 255")));
  ASSERT_OK_AND_ASSIGN(const auto variables, session->ReadVariables());
  EXPECT_EQ(Only(variables.at("w")), 10);
}

TEST_P(SessionTest, AWriteLeavesAConstantOfTheSameNameAlone) {
  GraphBuilder builder(ops_, "other");
  const Tensor x = builder.Placeholder("x", DType::kFloat32, {kElements});
  const Tensor w = builder.Add(
      builder,
      {.op = std::string(kConst), .attributes = ConstantOf(5), .name = "w"});
  const Tensor y = builder.Add(builder, {.op = "Mul", .inputs = {x, w}});
  std::vector<Program> programs;
  programs.push_back(TrainProgram(ops_).Build());
  programs.push_back(
      {.graph = std::move(builder).Build().value(), .fetches = {y.id()}});
  ASSERT_OK_AND_ASSIGN(const auto session, NewSession(std::move(programs)));
  ASSERT_THAT(session->WriteVariables({{"w", Zeros()}}), IsOk());
  ASSERT_OK_AND_ASSIGN(const StepResult result,
                       session->Step(1, {{x.id(), Filled(1)}}));
  EXPECT_EQ(Only(result.fetched.at(y.id())), 5);
}

TEST_P(SessionTest, FetchesMustBeDeviceValuesOfTheGraph) {
  for (const bool host : {false, true}) {
    TrainProgram train(ops_);
    const Tensor product = train.product;
    Program program = std::move(train).Build();
    const NodeId out =
        program.graph.AddNode({.name = "out",
                               .op = std::string(kSwapOut),
                               .inputs = {product.id()},
                               .outputs = {program.graph.type(product.id())},
                               .placement = Placement::kHost});
    program.fetches = {host ? program.graph.output(out) : ValueId(1000)};
    std::vector<Program> programs;
    programs.push_back(std::move(program));
    EXPECT_THAT(NewSession(std::move(programs)),
                StatusIs(kInvalid, HasSubstr(host ? "out:0 lives on the host"
                                                  : "fetch of value 1000")));
  }
}

TEST_P(SessionTest, VariablesOfOneNameAndTwoTypesAreRefused) {
  GraphBuilder builder(ops_, "other");
  const Tensor x = builder.Placeholder("x", DType::kFloat32, {8});
  const Tensor w = builder.Add(
      builder,
      {.op = std::string(kVariable),
       .attributes = {{"dtype", DType::kFloat32}, {"shape", Shape({8})}},
       .name = "w"});
  const Tensor y = builder.Add(builder, {.op = "Mul", .inputs = {x, w}});
  std::vector<Program> programs;
  programs.push_back(TrainProgram(ops_).Build());
  programs.push_back(
      {.graph = std::move(builder).Build().value(), .fetches = {y.id()}});
  EXPECT_THAT(
      NewSession(std::move(programs)),
      StatusIs(kInvalid, AllOf(HasSubstr("variable w is float32[8] in other"),
                               HasSubstr("float32[64]"))));
  EXPECT_EQ(asked_bytes_, 0);
}

TEST_P(SessionTest, NeedsAProgram) {
  EXPECT_THAT(NewSession({}), StatusIs(kInvalid, HasSubstr("program")));
}

// check_memory fills the arena with NaNs; a fetched NaN is not mistaken for
// them.
TEST_P(SessionTest, NaNsAtTheEndOfTheArenaAreMeasured) {
  const std::unique_ptr<Session> session = NewTrainSession();
  const auto nan = std::bit_cast<float>(0xFFFFFFFFu);
  ASSERT_THAT(session->Step({{ids_.x.id(), Filled(nan)}}), IsOk());
  EXPECT_EQ(session->memory().measured_device_bytes,
            session->memory().predicted_device_bytes);
}

TEST_P(SessionTest, FillsATimelineWhenAsked) {
  const std::unique_ptr<Session> session = NewTrainSession();
  Timeline timeline;
  ASSERT_THAT(session->Step(0, {{ids_.x.id(), Filled(1)}}, &timeline), IsOk());
  EXPECT_EQ(timeline.spans.size(), 3u);  // x, product, update
}

// A custom schedule, here the usual one with its last three kernels reversed.
TEST_P(SessionTest, AGivenOrderIsKeptAndChangesNoBit) {
  const EvalProgram ids(ops_);
  std::vector<Program> programs;
  programs.push_back(EvalProgram(ops_).Build());
  programs.push_back(EvalProgram(ops_).Build());
  const Graph& graph = programs[1].graph;
  ASSERT_OK_AND_ASSIGN(
      Schedule schedule,
      MakeSchedule(graph, ops_, NodesToRun(graph, ops_, programs[1].fetches)));
  std::reverse(schedule.order.end() - 3, schedule.order.end());
  for (size_t step = 0; step < schedule.order.size(); ++step) {
    schedule.step_of[schedule.order[step]] = static_cast<int32_t>(step);
  }
  const std::vector<NodeId> last(schedule.order.end() - 3,
                                 schedule.order.end());
  programs[1].order = TimedSchedule{.schedule = schedule};
  ASSERT_OK_AND_ASSIGN(const auto session, NewSession(std::move(programs)));
  const Feeds feeds = {{ids.x.id(), Filled(7)}};
  ASSERT_OK_AND_ASSIGN(const StepResult expected, session->Step(0, feeds));
  ASSERT_OK_AND_ASSIGN(const StepResult result, session->Step(1, feeds));
  ASSERT_EQ(result.fetched.size(), 3u);
  for (const auto& [id, value] : result.fetched) {
    EXPECT_EQ(value.bytes, expected.fetched.at(id).bytes);
  }
  const auto kernels = [&](int program) {
    std::vector<NodeId> nodes;
    for (const Step& step : session->plan(program)->steps) {
      if (step.kind == StepKind::kCompute) nodes.push_back(step.node);
    }
    return nodes;
  };
  EXPECT_EQ(kernels(1), last);
  EXPECT_NE(kernels(0), last);
}

TEST_P(SessionTest, BadOrdersAreRefused) {
  const auto refusal = [&](auto&& change) {
    Program program = EvalProgram(ops_).Build();
    Schedule schedule =
        MakeSchedule(program.graph, ops_,
                     NodesToRun(program.graph, ops_, program.fetches))
            .value();
    change(schedule.order);
    program.order = TimedSchedule{.schedule = std::move(schedule)};
    std::vector<Program> programs;
    programs.push_back(std::move(program));
    return NewSession(std::move(programs)).status();
  };
  using Order = std::vector<NodeId>;
  EXPECT_THAT(refusal([](Order& order) { order.pop_back(); }),
              StatusIs(kInvalid, HasSubstr("the order lacks ")));
  EXPECT_THAT(refusal([](Order& order) { order.push_back(order[0]); }),
              StatusIs(kInvalid, HasSubstr("which it had before")));
  EXPECT_THAT(refusal([](Order& order) { std::ranges::reverse(order); }),
              StatusIs(kInvalid, HasSubstr("before something that it needs")));
  EXPECT_THAT(refusal([](Order& order) { order[0] = NodeId(1000); }),
              StatusIs(kInvalid, HasSubstr("the order has node 1000")));
}

INSTANTIATE_TEST_SUITE_P(
    CpuBackends, SessionTest,
    ::testing::Values(ToySessionCase{.device = "inline"},
                      ToySessionCase{.device = "cpu"},
                      ToySessionCase{.device = "inline", .check_memory = true},
                      ToySessionCase{.device = "cpu", .check_memory = true}));

HostTensor OneFloat(unsigned char lowest_byte) {
  return {.type = {DType::kFloat32, Shape({1})},
          .bytes = {std::byte{lowest_byte}, std::byte{0}, std::byte{0},
                    std::byte{0}}};
}

TEST(ChecksumTest, OfNothingIsTheOffsetBasisOfFnv1a) {
  EXPECT_EQ(Checksum({}), "cbf29ce484222325");
}

TEST(ChecksumTest, DependsOnNamesTypesAndBytes) {
  HostTensor as_int = OneFloat(1);
  as_int.type.dtype = DType::kInt32;
  const std::string checksum = Checksum({{"a", OneFloat(1)}});
  EXPECT_EQ(checksum.size(), 16u);
  EXPECT_EQ(checksum, Checksum({{"a", OneFloat(1)}}));
  EXPECT_NE(checksum, Checksum({{"b", OneFloat(1)}}));
  EXPECT_NE(checksum, Checksum({{"a", OneFloat(2)}}));
  EXPECT_NE(checksum, Checksum({{"a", as_int}}));
}

}  // namespace
}  // namespace spillway
