// What a BucketedSession announces and refuses, and that it can go on.
#include "tuner/buckets/bucketed_session.h"

#include <functional>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "graph/builder/builder.h"
#include "models/layers/layers.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"
#include "tests/support/status_matchers.h"
#include "tests/tuner/buckets/bucket_net.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using testing::BucketFeeds;
using testing::BucketNet;
using testing::BucketOptions;
using testing::BuildBucketNet;
using ::testing::ElementsAre;
using testing::FeedsByName;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;
using testing::UnswappedBucketBytes;
using Code = absl::StatusCode;

// Warnings of the log while it lives.
class LoggedWarnings {
 public:
  LoggedWarnings()
      : sink_(std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)) {
    sink_->set_level(spdlog::level::warn);
    spdlog::default_logger()->sinks().push_back(sink_);
  }
  ~LoggedWarnings() { spdlog::default_logger()->sinks().pop_back(); }
  LoggedWarnings(const LoggedWarnings&) = delete;
  LoggedWarnings& operator=(const LoggedWarnings&) = delete;

  // Since the last call.
  std::string Take() {
    std::string text = text_.str();
    text_.str("");
    return text;
  }

 private:
  std::ostringstream text_;
  const std::shared_ptr<spdlog::sinks::ostream_sink_mt> sink_;
};

class BucketedSessionTest : public ::testing::Test {
 protected:
  inline static const BucketNet kNet = {.optimizer = Sgd{}};

  ShapeBucketSpec Spec() const {
    return {.program_of =
                [](const BucketKey& key) { return BuildBucketNet(kNet, key); },
            .default_key = {10, 10}};
  }

  static StepOptions Unswapped() {
    StepOptions options = BucketOptions();
    options.lms = {.mode = LmsMode::kOff};
    return options;
  }

  static std::unique_ptr<BucketedSession> Open(
      const ShapeBucketSpec& spec, const StepOptions& options = Unswapped()) {
    auto session = BucketedSession::Create(spec, options);
    EXPECT_THAT(session, IsOk());
    return session.ok() ? *std::move(session) : nullptr;
  }

  static absl::Status Step(BucketedSession& session, const BucketKey& key) {
    const auto feeds = BucketFeeds(kNet, key, 1);
    return session.Step(key, FeedsByName(feeds)).status();
  }

  // The default bucket, and one that is built by `other` for any other key.
  ShapeBucketSpec WithOther(
      std::function<absl::StatusOr<Program>(const BucketKey&)> other) const {
    ShapeBucketSpec spec = Spec();
    spec.program_of = [other](const BucketKey& key) -> absl::StatusOr<Program> {
      return key == BucketKey{10, 10} ? BuildBucketNet(kNet, key) : other(key);
    };
    return spec;
  }

  // The key cannot be opened, for this reason; the others go on.
  static void ExpectRefused(const ShapeBucketSpec& spec, const BucketKey& key,
                            Code code,
                            const ::testing::Matcher<std::string>& message) {
    const auto session = Open(spec);
    ASSERT_THAT(Step(*session, {10, 10}), IsOk());
    EXPECT_THAT(session->Open(key), StatusIs(code, message));
    EXPECT_THAT(session->keys(), ElementsAre(BucketKey{10, 10}));
    EXPECT_THAT(Step(*session, {10, 10}), IsOk());
    ShapeBucketSpec ahead = spec;
    ahead.keys = {key};
    EXPECT_THAT(BucketedSession::Create(ahead, Unswapped()),
                StatusIs(code, message));
  }
};

TEST_F(BucketedSessionTest, GrowthIsAnnouncedOnce) {
  LoggedWarnings warnings;
  const auto session = Open(Spec());
  // Within the arena, but for a few constants.
  ASSERT_THAT(Step(*session, {6, 6}), IsOk());
  EXPECT_THAT(warnings.Take(), IsEmpty());
  ASSERT_OK_AND_ASSIGN(Session * before, session->session());
  const int64_t present = before->memory().predicted_device_bytes;
  ASSERT_THAT(Step(*session, {20, 20}), IsOk());
  ASSERT_OK_AND_ASSIGN(Session * after, session->session());
  const int64_t needed = after->memory().predicted_device_bytes;
  EXPECT_GT(needed, present);
  EXPECT_THAT(
      warnings.Take(),
      AllOf(HasSubstr("the arena grows from"), HasSubstr("bucket [20, 20]"),
            HasSubstr(std::to_string(present) + " bytes"),
            HasSubstr(std::to_string(needed) + " bytes")));
  ASSERT_THAT(Step(*session, {20, 20}), IsOk());
  EXPECT_THAT(warnings.Take(), IsEmpty());
  EXPECT_THAT(session->keys(), ElementsAre(BucketKey{10, 10}, BucketKey{6, 6},
                                           BucketKey{20, 20}));
  // One that is planned ahead is no surprise.
  ShapeBucketSpec ahead = Spec();
  ahead.keys = {{20, 20}, {10, 10}, {20, 20}};
  const auto second = Open(ahead);
  EXPECT_THAT(second->keys(),
              ElementsAre(BucketKey{10, 10}, BucketKey{20, 20}));
  ASSERT_THAT(Step(*second, {20, 20}), IsOk());
  EXPECT_THAT(warnings.Take(), IsEmpty());
}

TEST_F(BucketedSessionTest, StrictRefusesGrowthWithItsBytes) {
  ShapeBucketSpec spec = Spec();
  spec.strict = true;
  const auto session = Open(spec);
  ASSERT_THAT(Step(*session, {6, 6}), IsOk());
  ASSERT_OK_AND_ASSIGN(Session * inner, session->session());
  const auto variables = *inner->ReadAllVariables();
  EXPECT_THAT(Step(*session, {20, 20}),
              StatusIs(Code::kResourceExhausted,
                       AllOf(HasSubstr("bucket [20, 20] needs"),
                             HasSubstr("the arena has"),
                             HasSubstr(std::to_string(
                                 inner->memory().predicted_device_bytes)))));
  ASSERT_OK_AND_ASSIGN(Session * same, session->session());
  EXPECT_EQ(Checksum(*same->ReadAllVariables()), Checksum(variables));
  EXPECT_THAT(Step(*session, {6, 6}), IsOk());
}

TEST_F(BucketedSessionTest, ABucketThatCannotFitIsNamedAndTheOthersGoOn) {
  StepOptions options = BucketOptions(UnswappedBucketBytes(kNet, {10, 10}));
  options.lms = {.mode = LmsMode::kOff};
  const auto session = Open(Spec(), options);
  ASSERT_THAT(Step(*session, {10, 10}), IsOk());
  EXPECT_THAT(Step(*session, {40, 40}),
              StatusIs(Code::kResourceExhausted, HasSubstr("bucket [40, 40]")));
  EXPECT_THAT(session->keys(), ElementsAre(BucketKey{10, 10}));
  EXPECT_THAT(Step(*session, {10, 10}), IsOk());
}

TEST_F(BucketedSessionTest, AnEmptyKeyIsRefused) {
  ExpectRefused(Spec(), {}, kInvalid,
                HasSubstr("the key of a bucket is empty"));
  ShapeBucketSpec spec = Spec();
  spec.default_key = {};
  EXPECT_THAT(BucketedSession::Create(spec, Unswapped()),
              StatusIs(kInvalid, HasSubstr("empty")));
}

TEST_F(BucketedSessionTest, WhatTheGeneratorReportsNamesTheKey) {
  const auto names_key = [](const char* text) {
    return AllOf(HasSubstr("program_of(bucket [7, 9])"), HasSubstr(text));
  };
  ExpectRefused(WithOther([](const BucketKey&) -> absl::StatusOr<Program> {
                  throw std::runtime_error("no such size");
                }),
                {7, 9}, Code::kInternal, names_key("no such size"));
  ExpectRefused(WithOther([](const BucketKey&) -> absl::StatusOr<Program> {
                  throw std::bad_alloc();
                }),
                {7, 9}, Code::kResourceExhausted, names_key("memory"));
  ExpectRefused(WithOther([](const BucketKey&) -> absl::StatusOr<Program> {
                  return absl::NotFoundError("a file");
                }),
                {7, 9}, Code::kNotFound, names_key("a file"));
  ExpectRefused(WithOther([](const BucketKey&) { return Program(); }), {7, 9},
                kInvalid, HasSubstr("bucket [7, 9]"));
}

// A program whose fetch `build` makes.
template <typename Build>
auto ProgramBy(Build build) {
  return [build](const BucketKey&) -> absl::StatusOr<Program> {
    GraphBuilder g("other");
    const Tensor fetch = build(g);
    SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
    return Program{.graph = std::move(graph), .fetches = {fetch}};
  };
}

TEST_F(BucketedSessionTest, TheDefaultHasTheVariablesOfAll) {
  const auto other = ProgramBy([](GraphBuilder& g) {
    const Tensor x = g.Placeholder("features", DType::kFloat32, {4, 32});
    return Dense(g.Scope("more"), Dense(g.Scope("logits"), x, {.units = 5}),
                 {.units = 2});
  });
  ExpectRefused(WithOther(other), {7, 9}, kInvalid,
                AllOf(HasSubstr("bucket [7, 9]: the default bucket [10, 10] "
                                "lacks its variables more/biases, "
                                "more/weights"),
                      HasSubstr("default key")));
  // Unless they are said to be its own.
  StepOptions options = Unswapped();
  options.own_variables = {"more"};
  const auto session = Open(WithOther(other), options);
  EXPECT_THAT(session->Open({7, 9}), IsOk());
}

TEST_F(BucketedSessionTest, AVariableHasOneType) {
  ExpectRefused(
      WithOther(ProgramBy([](GraphBuilder& g) {
        const Tensor x = g.Placeholder("features", DType::kFloat32, {4, 16});
        return Dense(g.Scope("logits"), x, {.units = 5});
      })),
      {7, 9}, kInvalid,
      AllOf(HasSubstr("bucket [7, 9]: variable logits/weights"),
            HasSubstr("[16, 5]"), HasSubstr("[32, 5]")));
}

TEST_F(BucketedSessionTest, AnInputHasOneDtypeAndBatchSize) {
  ExpectRefused(WithOther(ProgramBy([](GraphBuilder& g) {
                  return Relu(g.Scope("relu"),
                              g.Placeholder("labels", DType::kFloat32, {4}));
                })),
                {7, 9}, kInvalid,
                AllOf(HasSubstr("bucket [7, 9]: labels is float32[4], but "
                                "int32[4]"),
                      HasSubstr("the dtype must be the same")));
  const BucketNet larger = {.batch = 6, .optimizer = Sgd{}};
  const auto build = [larger](const BucketKey& key) {
    return BuildBucketNet(larger, key);
  };
  ExpectRefused(WithOther(build), {7, 9}, kInvalid,
                AllOf(HasSubstr("[6, 7, 9, 3]"), HasSubstr("[4, 10, 10, 3]"),
                      HasSubstr("the batch size")));
  // Only of the inputs that have one.
  ShapeBucketSpec spec = WithOther(build);
  spec.batch_inputs = std::vector<std::string>();
  EXPECT_THAT(Open(spec)->Open({7, 9}), IsOk());
  spec.batch_inputs = {"pictures"};
  EXPECT_THAT(
      BucketedSession::Create(spec, Unswapped()),
      StatusIs(kInvalid, AllOf(HasSubstr("batch_inputs"), HasSubstr("pictures"),
                               HasSubstr("images, labels"))));
}

TEST_F(BucketedSessionTest, AFeedThatABucketLacksNamesItsInputs) {
  const auto session = Open(Spec());
  auto feeds = BucketFeeds(kNet, {10, 10}, 1);
  feeds["words"] = feeds["labels"];
  EXPECT_THAT(
      session->Step({10, 10}, FeedsByName(feeds)).status(),
      StatusIs(kInvalid, HasSubstr("bucket [10, 10] has no input words; its "
                                   "inputs are images, labels")));
  feeds.erase("words");
  feeds.erase("labels");
  EXPECT_THAT(session->Step({10, 10}, FeedsByName(feeds)).status(),
              StatusIs(kInvalid, AllOf(HasSubstr("bucket [10, 10]"),
                                       HasSubstr("labels"))));
  EXPECT_THAT(Step(*session, {10, 10}), IsOk());
}

TEST_F(BucketedSessionTest, SpecsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(BucketedSession::Create({.default_key = {1}}, Unswapped()),
              StatusIs(kInvalid, HasSubstr("program_of")));
  StepOptions options = Unswapped();
  options.threads = -1;
  EXPECT_THAT(BucketedSession::Create(Spec(), options),
              StatusIs(kInvalid, HasSubstr("threads")));
}

TEST_F(BucketedSessionTest, AFetchThatDoesNotExistIsNamed) {
  const auto session = Open(Spec());
  const auto feeds = BucketFeeds(kNet, {10, 10}, 1);
  ASSERT_OK_AND_ASSIGN(const BucketStep step,
                       session->Step({10, 10}, FeedsByName(feeds)));
  EXPECT_THAT(step.scalar(0), IsOk());
  EXPECT_THAT(step.scalar(1),
              StatusIs(kInvalid, HasSubstr("no fetch 1; the program has 1")));
}

}  // namespace
}  // namespace spillway
