// Errors of callers of a session are Statuses; and the state after an error.
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "tests/executor/toy_session.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kElements;
using testing::MakeKernels;
using testing::MakeOps;
using testing::StatusIs;
using testing::ToySessionCase;
using testing::TrainProgram;
using testing::VariableOf;

using testing::kInternal;
using testing::kInvalid;
using testing::kPrecondition;

using SessionErrorsTest = testing::ToySessionTest;

std::vector<Program> TrainPrograms(const OpRegistry& ops) {
  std::vector<Program> programs;
  programs.push_back(TrainProgram(ops).Build());
  return programs;
}

HostTensor Tensor64(float value) {
  HostTensor tensor = {.type = {DType::kFloat32, Shape({kElements})}};
  const std::vector<float> elements(kElements, value);
  const auto bytes = std::as_bytes(std::span(elements));
  tensor.bytes.assign(bytes.begin(), bytes.end());
  return tensor;
}

TEST(SessionOptionsTest, NullRegistriesAndDevicesAreRefused) {
  const OpRegistry ops = MakeOps();
  const KernelRegistry kernels = MakeKernels();
  const auto create = [&](const OpRegistry* some_ops,
                          const KernelRegistry* some_kernels, bool has_device) {
    return Session::Create(
               TrainPrograms(ops),
               has_device ? NewDevice("inline", {}).value() : nullptr,
               {.ops = some_ops, .kernels = some_kernels})
        .status();
  };
  EXPECT_THAT(create(&ops, &kernels, true), IsOk());
  EXPECT_THAT(create(nullptr, &kernels, true),
              StatusIs(kInvalid, HasSubstr("SessionOptions::ops is null")));
  EXPECT_THAT(create(&ops, nullptr, true),
              StatusIs(kInvalid, HasSubstr("SessionOptions::kernels is null")));
  EXPECT_THAT(create(&ops, &kernels, false),
              StatusIs(kInvalid, HasSubstr("device is null")));
}

TEST(SessionOptionsTest, RegistriesThatRefusedSomethingAreRefused) {
  OpRegistry ops = MakeOps();
  KernelRegistry kernels = MakeKernels();
  const auto create = [&] {
    return Session::Create(TrainPrograms(MakeOps()),
                           NewDevice("inline", {}).value(),
                           {.ops = &ops, .kernels = &kernels})
        .status();
  };
  kernels.Add("Mul", DeviceKind::kCpu, testing::NewMul);
  EXPECT_THAT(create(), StatusIs(kInvalid, HasSubstr("Mul has two kernels")));
  ops.Add({.name = "NoInfer"});
  EXPECT_THAT(create(), StatusIs(kInvalid, HasSubstr("no infer function")));
}

TEST_P(SessionErrorsTest, NegativeBudgetsAreRefused) {
  EXPECT_THAT(NewSession(TrainPrograms(ops_), {.device_memory = -1}),
              StatusIs(kInvalid, HasSubstr("device_memory must be 0 bytes or "
                                           "more, not -1")));
  EXPECT_THAT(NewSession(TrainPrograms(ops_), {.host_memory = -5}),
              StatusIs(kInvalid, HasSubstr("host_memory must be 0 bytes or "
                                           "more, not -5")));
  EXPECT_EQ(asked_bytes_, 0);
}

// The devices of these tests have one thread.
TEST_P(SessionErrorsTest, AnotherNumberOfThreadsThanTheDevicesIsRefused) {
  EXPECT_THAT(NewSession(TrainPrograms(ops_), {.threads = 2}),
              StatusIs(kInvalid, AllOf(HasSubstr("for 2 threads"),
                                       HasSubstr("opened with 1"))));
  EXPECT_EQ(asked_bytes_, 0);
  EXPECT_THAT(NewSession(TrainPrograms(ops_), {.threads = 0}), IsOk());
  for (const int threads : {-1, 4097, std::numeric_limits<int>::max()}) {
    EXPECT_THAT(NewSession(TrainPrograms(ops_), {.threads = threads}),
                StatusIs(kInvalid, HasSubstr("threads must be 0")));
  }
}

TEST_P(SessionErrorsTest, ProgramsThatThereAreNotAreRefused) {
  const std::unique_ptr<Session> session = NewTrainSession();
  EXPECT_EQ(session->num_programs(), 1);
  EXPECT_NE(session->plan(0), nullptr);
  EXPECT_NE(session->copies(0), nullptr);
  for (const int program : {-1, 1, std::numeric_limits<int>::min()}) {
    EXPECT_THAT(session->Step(program, {{ids_.x.id(), Filled(1)}}),
                StatusIs(kInvalid, HasSubstr("there are 1")));
    EXPECT_EQ(session->plan(program), nullptr);
    EXPECT_EQ(session->copies(program), nullptr);
    EXPECT_EQ(session->FeedBuffer(program, ids_.x.id()), nullptr);
  }
  EXPECT_EQ(session->FeedBuffer(0, ValueId(1000)), nullptr);
  EXPECT_THAT(session->Step({{ids_.x.id(), Filled(1)}}), IsOk());
}

TEST_P(SessionErrorsTest, StepNumbersAreOnePerProgramAndNotNegative) {
  const std::unique_ptr<Session> session = NewTrainSession();
  ASSERT_THAT(session->SetStepNumbers({7}), IsOk());
  EXPECT_THAT(session->SetStepNumbers({1, 2}),
              StatusIs(kInvalid, HasSubstr("2 step numbers")));
  EXPECT_THAT(session->SetStepNumbers({-3}),
              StatusIs(kInvalid, HasSubstr("not -3")));
  EXPECT_EQ(session->step_numbers(), std::vector<int64_t>{7});
}

// A graph made without a builder, which was not checked.
TEST_P(SessionErrorsTest, AGraphThatBreaksItsSchemasIsRefused) {
  std::vector<Program> programs = TrainPrograms(ops_);
  Graph& graph = programs[0].graph;
  const NodeId wrong =
      graph.AddNode({.name = "wrong",
                     .op = "Mul",
                     .inputs = {ids_.x.id(), ids_.x.id()},
                     .outputs = {{DType::kFloat32, Shape({2 * kElements})}}});
  programs[0].fetches.push_back(graph.output(wrong));
  EXPECT_THAT(NewSession(std::move(programs)),
              StatusIs(kInvalid, AllOf(HasSubstr("program 0: wrong"),
                                       HasSubstr("float32[128]"))));
}

// A second program whose variable differs from the first program's.
Program OtherVariable(const OpRegistry& ops, const std::string& name) {
  GraphBuilder builder(ops, "other");
  const Tensor w = builder.Add(builder, {.op = std::string(kVariable),
                                         .attributes = VariableOf(3),
                                         .name = name});
  const Tensor y = builder.Add(builder, {.op = "Noise", .inputs = {w}});
  return {.graph = std::move(builder).Build().value(), .fetches = {y.id()}};
}

TEST_P(SessionErrorsTest, AVariableThatOnlyALaterProgramHasIsAskedFor) {
  const auto create = [&](const std::string& name,
                          std::vector<std::string> own) {
    std::vector<Program> programs = TrainPrograms(ops_);
    programs.push_back(OtherVariable(ops_, name));
    return NewSession(std::move(programs), {.own_variables = std::move(own)})
        .status();
  };
  EXPECT_THAT(create("w", {}), IsOk());
  EXPECT_THAT(create("eval/w2", {}),
              StatusIs(kInvalid, AllOf(HasSubstr("program 1 (other)"),
                                       HasSubstr("variable eval/w2,"),
                                       HasSubstr("own_variables"))));
  EXPECT_THAT(create("eval/w2", {"x", "eval/w2"}), IsOk());
  EXPECT_THAT(create("eval/w2", {"eval"}), IsOk());
  EXPECT_THAT(create("eval/w2", {"eval/w", "ev", ""}), StatusIs(kInvalid, _));
}

TEST_P(SessionErrorsTest, FeedsThatAreRefusedLeaveTheSessionAsItWas) {
  const std::unique_ptr<Session> session = NewTrainSession();
  const std::vector<float> short_one(63);
  EXPECT_THAT(
      session->Step({{ids_.x.id(), short_one}}),
      StatusIs(kInvalid, AllOf(HasSubstr("feed x: "), HasSubstr("64 elements"),
                               HasSubstr("got 63"))));
  const std::vector<int32_t> ints(64);
  EXPECT_THAT(session->Step({{ids_.x.id(), ints}}),
              StatusIs(kInvalid, HasSubstr("got 64 of int32")));
  EXPECT_EQ(session->step_numbers(), std::vector<int64_t>{0});
  const std::vector<float> ones(64, 1.0F);
  ASSERT_OK_AND_ASSIGN(
      const StepResult result,
      session->Step({{ids_.x.id(), std::span<const float>(ones)}}));
  EXPECT_EQ(Only(result.fetched.at(ids_.updated.id())), 8);
}

// Another update has run before the failing one: half of the variables have the
// values of the previous step.
struct TwoUpdates {
  explicit TwoUpdates(const OpRegistry& ops) : builder(ops, "two") {
    const auto variable = [&](const char* name) {
      return builder.Add(builder, {.op = std::string(kVariable),
                                   .attributes = VariableOf(10),
                                   .name = name});
    };
    x = builder.Placeholder("x", DType::kFloat32, {kElements});
    y = builder.Placeholder("y", DType::kFloat32, {kElements});
    const Tensor v = variable("v");
    const Tensor w = variable("w");
    first =
        builder.Add(builder, {.op = "Descend", .inputs = {v, x}, .name = "a"});
    second =
        builder.Add(builder, {.op = "Descend", .inputs = {w, y}, .name = "b"});
  }
  Program Build() && {
    return {.graph = std::move(builder).Build().value(),
            .fetches = {first.id(), second.id()}};
  }
  GraphBuilder builder;
  Tensor x, y, first, second;
};

TEST_P(SessionErrorsTest, AfterAKernelFailedAllVariablesMustBeWritten) {
  const TwoUpdates ids(ops_);
  std::vector<Program> programs;
  programs.push_back(TwoUpdates(ops_).Build());
  ASSERT_OK_AND_ASSIGN(const auto session, NewSession(std::move(programs)));
  const Feeds good = {{ids.x.id(), Filled(1)}, {ids.y.id(), Filled(1)}};
  ASSERT_THAT(session->Step(good), IsOk());
  EXPECT_THAT(
      session->Step({{ids.x.id(), Filled(1)}, {ids.y.id(), Filled(13)}}),
      StatusIs(kInternal, "b: planted"));

  const auto is_undefined = StatusIs(
      kPrecondition, AllOf(HasSubstr("b: planted"),
                           HasSubstr("2 not written, the first is v")));
  EXPECT_THAT(session->Step(good).status(), is_undefined);
  EXPECT_THAT(session->ReadVariables().status(), is_undefined);
  EXPECT_THAT(session->WriteVariables({{"stranger", Tensor64(1)}}),
              StatusIs(kInvalid, HasSubstr("stranger")));
  ASSERT_THAT(session->WriteVariables({{"v", Tensor64(20)}}), IsOk());
  EXPECT_THAT(session->Step(good).status(),
              StatusIs(kPrecondition,
                       AllOf(HasSubstr("b: planted"),
                             HasSubstr("1 not written, the first is w"))));
  ASSERT_THAT(session->WriteVariables({{"w", Tensor64(30)}}), IsOk());

  // The failed step did not count.
  EXPECT_EQ(session->step_numbers(), std::vector<int64_t>{1});
  ASSERT_OK_AND_ASSIGN(const StepResult result, session->Step(good));
  EXPECT_EQ(Only(result.fetched.at(ids.first.id())), 19);
  EXPECT_EQ(Only(result.fetched.at(ids.second.id())), 29);
  EXPECT_EQ(session->step_numbers(), std::vector<int64_t>{2});
}

TEST_P(SessionErrorsTest, WithoutVariablesNothingIsUndefined) {
  GraphBuilder builder(ops_, "none");
  const Tensor x = builder.Placeholder("x", DType::kFloat32, {kElements});
  const Tensor y =
      builder.Add(builder, {.op = "Descend", .inputs = {x, x}, .name = "y"});
  std::vector<Program> programs;
  programs.push_back(
      {.graph = std::move(builder).Build().value(), .fetches = {y.id()}});
  ASSERT_OK_AND_ASSIGN(const auto session, NewSession(std::move(programs)));
  EXPECT_THAT(session->Step({{x.id(), Filled(13)}}), StatusIs(kInternal, _));
  ASSERT_OK_AND_ASSIGN(const StepResult result,
                       session->Step({{x.id(), Filled(1)}}));
  EXPECT_EQ(Only(result.fetched.at(y.id())), 0);
}

// y = x, unless x is negative: then it throws.
template <typename Thrown>
absl::StatusOr<std::unique_ptr<Kernel>> NewThrower(
    const KernelRequest& request) {
  return testing::NewElementKernel(request,
                                   [](const KernelContext& context, size_t i) {
                                     const float x = context.input<float>(0)[i];
                                     if (x < 0) throw Thrown("planted");
                                     context.output<float>(0)[i] = x;
                                     return absl::OkStatus();
                                   });
}

// y = Noise(x), of kElements each, in node n.
struct NoiseGraph {
  Graph graph;
  ValueId x;
  ValueId y;

  explicit NoiseGraph(const OpRegistry& ops) {
    GraphBuilder builder(ops, "noise");
    const Tensor fed = builder.Placeholder("x", DType::kFloat32, {kElements});
    x = fed.id();
    y = builder.Add(builder, {.op = "Noise", .inputs = {fed}, .name = "n"})
            .id();
    graph = std::move(builder).Build().value();
  }
};

TEST_P(SessionErrorsTest, AKernelThatThrowsIsAnErrorNamingItsNode) {
  const NoiseGraph noise(ops_);
  for (const bool is_exception : {true, false}) {
    KernelRegistry kernels;
    kernels.Add("Noise", DeviceKind::kCpu,
                is_exception ? NewThrower<std::runtime_error>
                             : NewThrower<std::string>);
    ASSERT_OK_AND_ASSIGN(auto device,
                         NewDevice(GetParam().device, {.threads = 1}));
    std::vector<Program> programs;
    programs.push_back({.graph = noise.graph, .fetches = {noise.y}});
    ASSERT_OK_AND_ASSIGN(
        const auto session,
        Session::Create(std::move(programs), std::move(device),
                        {.ops = &ops_,
                         .kernels = &kernels,
                         .check_memory = GetParam().check_memory}));
    EXPECT_THAT(
        session->Step({{noise.x, Filled(-1)}}),
        StatusIs(kInternal, is_exception ? "n: threw an exception: planted"
                                         : "n: threw something that is not a "
                                           "std::exception"));
    ASSERT_OK_AND_ASSIGN(const StepResult result,
                         session->Step({{noise.x, Filled(2)}}));
    EXPECT_EQ(Only(result.fetched.at(noise.y)), 2);
  }
}

// It would be unknown what the op overwrites.
TEST_P(SessionErrorsTest, AKernelWithoutItsOpIsRefused) {
  const NoiseGraph noise(ops_);
  OpRegistry ops;  // MakeOps' but Noise
  for (const auto& [name, def] : ops_.ops()) {
    if (name != "Noise") ops.Add(def);
  }
  std::vector<Program> programs;
  programs.push_back({.graph = noise.graph, .fetches = {noise.y}});
  EXPECT_THAT(
      Session::Create(std::move(programs),
                      NewDevice(GetParam().device, {.threads = 1}).value(),
                      {.ops = &ops, .kernels = &kernels_}),
      StatusIs(absl::StatusCode::kUnimplemented,
               HasSubstr("n: op Noise is not in the op registry")));
}

TEST_P(SessionErrorsTest, AnEmptyGraphIsRefused) {
  EXPECT_THAT(
      Session::Create(std::vector<Program>(1),
                      NewDevice(GetParam().device, {.threads = 1}).value(),
                      {.ops = &ops_, .kernels = &kernels_}),
      StatusIs(kInvalid, HasSubstr("has no nodes")));
}

INSTANTIATE_TEST_SUITE_P(
    CpuBackends, SessionErrorsTest,
    ::testing::Values(ToySessionCase{.device = "inline"},
                      ToySessionCase{.device = "cpu"},
                      ToySessionCase{.device = "inline", .check_memory = true},
                      ToySessionCase{.device = "cpu", .check_memory = true}));

}  // namespace
}  // namespace spillway
