#include "tuner/model/kernel_algorithms.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/node_signature.h"
#include "tests/executor/plan/plan_cases.h"

namespace spillway {
namespace {

using testing::ChainGraph;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// f1 f2 b2 b1
class KernelAlgorithmsTest : public ::testing::Test {
 protected:
  std::string Signature(int node) const {
    return NodeSignature(graph_, graph_.node(NodeId(node)));
  }
  std::vector<std::string> NamesOf(int node) const {
    const KnownAlgorithms known = FindAlgorithms(graph_, listed_, profile_);
    std::vector<std::string> names;
    for (const KnownAlgorithm& algorithm : known[NodeId(node)]) {
      names.push_back(algorithm.name);
    }
    return names;
  }

  std::vector<int64_t> Limits() const {
    std::vector<int64_t> limits;
    for (const LimitedChoice& choice :
         LimitedChoices(FindAlgorithms(graph_, listed_, profile_))) {
      limits.push_back(choice.limit_bytes);
    }
    return limits;
  }

  const Graph graph_ = ChainGraph(2, 1024, false);
  ListedAlgorithms listed_ = ListedAlgorithms(graph_.num_nodes());
  DeviceProfile profile_;
};

TEST_F(KernelAlgorithmsTest, NothingIsKnownOfKernelsThatListNothing) {
  EXPECT_THAT(NamesOf(0), IsEmpty());
  EXPECT_THAT(Limits(), ElementsAre(0));
}

TEST_F(KernelAlgorithmsTest, UnmeasuredOnesComeInTheKernelsOrder) {
  listed_[NodeId(0)] = {{"guess", 500}, {"worse", 900}, {"small", 10}};
  // "worse" is slower and needs more.
  EXPECT_THAT(NamesOf(0), ElementsAre("guess", "small"));
  EXPECT_THAT(NamesOf(1), IsEmpty());
}

TEST_F(KernelAlgorithmsTest, MeasuredOnesComeFastestFirst) {
  listed_[NodeId(0)] = {{"guess", 500}, {"large", 900}, {"small", 10}};
  profile_.algorithms[Signature(0)] = {{"guess", {500, 30}},
                                       {"large", {900, 20}},
                                       {"small", {10, 40}},
                                       {"of another version", {0, 1}}};
  EXPECT_TRUE(HasTimes(FindAlgorithms(graph_, listed_, profile_)));
  EXPECT_THAT(NamesOf(0), ElementsAre("large", "guess", "small"));
  profile_.algorithms[Signature(0)].at("small").ns = 20;
  EXPECT_THAT(NamesOf(0), ElementsAre("large", "small"));
  profile_.algorithms[Signature(0)].at("small").ns = 19;
  EXPECT_THAT(NamesOf(0), ElementsAre("small"));
}

// If some nodes were measured, a node that was not keeps its kernel's first
// guess.
TEST_F(KernelAlgorithmsTest, AKernelThatWasNotMeasuredKeepsItsFirst) {
  listed_[NodeId(0)] = {{"guess", 500}, {"small", 10}};
  profile_.algorithms["another signature"] = {{"guess", {500, 1}}};
  EXPECT_THAT(NamesOf(0), ElementsAre("guess"));
  EXPECT_FALSE(HasTimes(FindAlgorithms(graph_, listed_, profile_)));
}

TEST_F(KernelAlgorithmsTest, AProfileOfAnotherMachineSaysWhatItHas) {
  profile_.algorithms[Signature(0)] = {{"slow", {0, 7}}, {"fast", {64, 5}}};
  EXPECT_THAT(NamesOf(0), ElementsAre("fast", "slow"));
  listed_[NodeId(0)] = {{"of this machine", 0}};
  EXPECT_THAT(NamesOf(0), ElementsAre("fast", "slow"));
}

TEST_F(KernelAlgorithmsTest, ALimitChoosesTheFastestThatHasRoom) {
  listed_[NodeId(0)] = {{"a", 1600}, {"b", 300}, {"c", 20}};
  listed_[NodeId(1)] = {{"d", 90}, {"e", 10}};
  const KnownAlgorithms known = FindAlgorithms(graph_, listed_, profile_);
  const auto chosen = [&](int64_t limit) {
    const AlgorithmNames names = ChooseWithin(known, limit);
    return names[NodeId(0)] + names[NodeId(1)] + names[NodeId(2)];
  };
  EXPECT_EQ(chosen(1600), "ad");
  EXPECT_EQ(chosen(1599), "bd");
  EXPECT_EQ(chosen(100), "cd");
  EXPECT_EQ(chosen(0), "ce");
  EXPECT_THAT(Limits(), ElementsAre(1600, 400, 100, 0));

  IdMap<NodeId, int64_t> limits(graph_.num_nodes(), 0);
  limits[NodeId(0)] = 300;
  EXPECT_EQ(ChooseWithin(known, limits)[NodeId(0)], "b");
  EXPECT_EQ(ChooseWithin(known, limits)[NodeId(1)], "e");
}

TEST_F(KernelAlgorithmsTest, OnlyTheFastestIsKeptWhateverItsWorkspace) {
  listed_[NodeId(0)] = {{"guess", 500}, {"fast", 900}, {"small", 10}};
  listed_[NodeId(1)] = {{"one", 70}, {"other", 7}};  // not measured
  profile_.algorithms[Signature(0)] = {
      {"guess", {.ns = 30}}, {"fast", {.ns = 20}}, {"small", {.ns = 40}}};
  KnownAlgorithms known = FindAlgorithms(graph_, listed_, profile_);
  KeepFastest(known);
  const AlgorithmNames names = ChooseWithin(known, 0);
  EXPECT_EQ(AlgorithmOf(names, NodeId(0)), "fast");
  profile_.algorithms.clear();
  known = FindAlgorithms(graph_, listed_, profile_);
  KeepFastest(known);
  EXPECT_EQ(AlgorithmOf(ChooseWithin(known, 0), NodeId(0)), "");
}

TEST_F(KernelAlgorithmsTest, LimitsThatChooseTheSameCountOnce) {
  listed_[NodeId(0)] = {{"a", 1600}, {"c", 20}};
  EXPECT_THAT(Limits(), ElementsAre(1600, 400));
}

TEST_F(KernelAlgorithmsTest, WithoutTimesTheFirstChoiceIsTheKernelsOwn) {
  listed_[NodeId(0)] = {{"a", 1600}, {"c", 20}};
  const auto first = [&] {
    return LimitedChoices(FindAlgorithms(graph_, listed_, profile_))
        .front()
        .names;
  };
  EXPECT_TRUE(first().empty());
  profile_.algorithms[Signature(0)] = {{"a", {1600, 5}}, {"c", {20, 6}}};
  EXPECT_EQ(AlgorithmOf(first(), NodeId(0)), "a");
}

TEST_F(KernelAlgorithmsTest, WorkspacesAreThoseOfTheNamedAlgorithms) {
  listed_[NodeId(0)] = {{"a", 1600}, {"b", 300}};
  listed_[NodeId(1)] = {{"d", 90}, {"e", 10}};
  IdMap<NodeId, int64_t> bytes(graph_.num_nodes(), 7);
  AlgorithmNames names(2);
  names[NodeId(0)] = "b";
  SetWorkspaces(FindAlgorithms(graph_, listed_, profile_), names, bytes);
  EXPECT_EQ(bytes[NodeId(0)], 300);
  EXPECT_EQ(bytes[NodeId(1)], 7);
}

}  // namespace
}  // namespace spillway
