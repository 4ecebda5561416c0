// Compares the search for fates, without a link, with the best checkpoints of a
// chain: the dynamic program of Beaumont and others, "Optimal checkpointing for
// heterogeneous chains: how to train deep neural networks with limited memory",
// 2019, section 4.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/test_size.h"
#include "tests/tuner/space_case.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/fates/joint_search.h"

namespace spillway {
namespace {

using testing::Below;
using testing::BudgetBetween;
using testing::CaseOf;
using testing::LinkOf;
using testing::NumCases;
using testing::SpaceOf;
using testing::StressSetting;
using testing::TunerCase;

constexpr int64_t kChainUnit = 256;  // bytes

// Layer i computes a[i] from a[i - 1], and backward d[i - 1] from a[i - 1] and
// d[i]; the loss is between a[n] and d[n]. Sizes in units.
struct LayerChain {
  std::vector<int64_t> a;        // 0 to n
  std::vector<int64_t> d;        // 0 to n
  std::vector<int64_t> forward;  // nanoseconds; 1 to n

  int size() const { return static_cast<int>(a.size()) - 1; }
};

LayerChain RandomChain(int layers, std::mt19937_64& random) {
  LayerChain chain = {.a = {}, .d = {}, .forward = {0}};
  for (int i = 0; i <= layers; ++i) {
    chain.a.push_back(1 + Below(random, 8));
    chain.d.push_back(1 + Below(random, 8));
    if (i > 0) chain.forward.push_back(1000 * (1 + Below(random, 20)));
  }
  return chain;
}

// Only the layers may be computed again.
TunerCase ChainStep(const LayerChain& chain) {
  Graph graph("chain");
  const auto type = [](int64_t units) -> TensorType {
    return {.dtype = DType::kUInt8, .shape = {units * kChainUnit}};
  };
  const auto add = [&](const char* op, int i, std::vector<ValueId> inputs,
                       int64_t units) {
    const NodeId id = graph.AddNode({.name = fmt::format("{}{}", op, i),
                                     .op = op,
                                     .inputs = std::move(inputs),
                                     .outputs = {type(units)}});
    return graph.output(id);
  };
  std::vector<ValueId> a = {add("Source", 0, {}, chain.a[0])};
  for (int i = 1; i <= chain.size(); ++i) {
    a.push_back(add("Layer", i, {a.back()}, chain.a[static_cast<size_t>(i)]));
  }
  ValueId d = add("Loss", 0, {a.back()}, chain.d.back());
  for (int i = chain.size(); i > 0; --i) {
    const auto before = static_cast<size_t>(i - 1);
    d = add("Gradient", i, {a[before], d}, chain.d[before]);
  }
  OpRegistry ops;
  ops.Add(testing::ClonableOp("Layer"));
  TunerCase made = CaseOf(std::move(graph), std::move(ops), 1000, LinkOf(1));
  for (int i = 1; i <= chain.size(); ++i) {
    made.kernel_ns[NodeId(i)] = chain.forward[static_cast<size_t>(i)];
  }
  return made;
}

// The least time of layers that are computed again; nullopt: it does not fit.
class BestCheckpoints {
 public:
  explicit BestCheckpoints(const LayerChain& chain) : chain_(chain) {}

  // `units`: of the whole step.
  std::optional<int64_t> Find(int64_t units) {
    return First(1, units - chain_.a[0]);
  }

 private:
  using Cost = std::optional<int64_t>;

  static void Less(Cost a, Cost b, int64_t more, Cost& least) {
    if (a && b)
      least = std::min(least.value_or(*a + *b + more), *a + *b + more);
  }

  int64_t a(int i) const { return chain_.a[static_cast<size_t>(i)]; }
  int64_t d(int i) const { return chain_.d[static_cast<size_t>(i)]; }

  // The most units while layers s to k run one after the other; a[s - 1] is
  // counted elsewhere.
  int64_t ForwardUnits(int s, int k) const {
    int64_t most = 0;
    for (int i = s; i <= k; ++i) {
      most = std::max(most, a(i) + (i > s ? a(i - 1) : 0));
    }
    return most;
  }

  // From a[s - 1], for the first time, to the loss and back to d[s - 1].
  Cost First(int s, int64_t units) {
    const int n = chain_.size();
    const auto [found, is_new] = first_.try_emplace({s, units});
    if (!is_new) return found->second;
    Cost least;
    if (ForwardUnits(s, n) <= units && a(n) + d(n) <= units) {
      least = Again(s, n, units);
    }
    for (int k = s; k < n; ++k) {
      if (ForwardUnits(s, k) > units) break;
      Less(First(k + 1, units - a(k)), Again(s, k, units), 0, least);
    }
    return first_[{s, units}] = least;
  }

  // From a[s - 1] and d[t] to d[s - 1]; d[t] is counted here.
  Cost Again(int s, int t, int64_t units) {
    if (s == t) {
      return d(t) + d(t - 1) <= units ? Cost(0) : std::nullopt;
    }
    const auto [found, is_new] = again_.try_emplace({s, t, units});
    if (!is_new) return found->second;
    Cost least;
    int64_t forward_ns = 0;
    for (int k = s; k < t; ++k) {
      forward_ns += chain_.forward[static_cast<size_t>(k)];
      if (ForwardUnits(s, k) + d(t) > units) break;
      Less(Again(k + 1, t, units - a(k)), Again(s, k, units), forward_ns,
           least);
    }
    return again_[{s, t, units}] = least;
  }

  const LayerChain& chain_;
  std::map<std::pair<int, int64_t>, Cost> first_;
  std::map<std::tuple<int, int, int64_t>, Cost> again_;
};

// A few checkpoints that are stored for a part of the backward phase only are
// beyond what fates express, and long chains have more choices than the search
// tries: of 209 budgets of 60 chains, 169 are reached, 3 are found too small,
// and the worst step takes 13 % more time.
TEST(ChainSearchTest, MostlyFindsTheBestCheckpoints) {
  constexpr int kBudgets = 5;
  const int64_t cases = StressSetting("SPILLWAY_STRESS_CASES", NumCases(60));
  int64_t compared = 0;
  int64_t best = 0;
  int64_t missing = 0;
  double sum_of_ratios = 0;
  for (int64_t seed = 1; seed <= cases; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const int layers = 3 + static_cast<int>(Below(random, 18));
    const LayerChain chain = RandomChain(layers, random);
    const TunerCase tuner_case = ChainStep(chain);
    const RecomputeSpace space = SpaceOf(tuner_case);
    const int64_t peak = space.model.peak_bytes;
    for (int i = 0; i < kBudgets; ++i) {
      const int64_t units =
          BudgetBetween(peak / 4, peak, i, kBudgets) / kChainUnit;
      SCOPED_TRACE(::testing::Message() << units << " units");
      const std::optional<int64_t> least_ns =
          BestCheckpoints(chain).Find(units);
      const std::optional<JointStep> found = SearchFates(
          JointPlayer(space, units * kChainUnit, 0, /*host_bytes=*/0), {}, {});
      if (!least_ns) {
        EXPECT_FALSE(found.has_value());
        continue;
      }
      ++compared;
      if (!found) {
        ++missing;
        continue;
      }
      ASSERT_GE(found->materialized().recompute_ns, *least_ns);
      const double ratio =
          static_cast<double>(found->played.step_ns) /
          static_cast<double>(space.model.kernels_ns + *least_ns);
      EXPECT_LT(ratio, 1.25);
      sum_of_ratios += ratio;
      best += found->materialized().recompute_ns == *least_ns ? 1 : 0;
    }
  }
  EXPECT_GT(compared, 2 * cases);
  EXPECT_GE(best, compared * 3 / 4);
  EXPECT_LE(missing, 1 + compared / 50);
  EXPECT_LE(sum_of_ratios, 1.01 * static_cast<double>(compared - missing));
}

}  // namespace
}  // namespace spillway
