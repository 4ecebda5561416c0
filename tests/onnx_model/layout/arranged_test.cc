#include "onnx_model/layout/arranged.h"

#include <numeric>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/host_tensor.h"
#include "tests/support/new_session.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway::onnx_model {
namespace {

using ::testing::ElementsAre;

// A value as its numbers in the model's order: what no arrangement may change.
struct NaiveValue {
  std::vector<int64_t> dims = {};
  std::vector<float> data = {};
};

NaiveValue NaivePermute(const NaiveValue& x, const Order& order) {
  std::vector<int64_t> strides(x.dims.size(), 1);
  for (size_t i = x.dims.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * x.dims[i];
  }
  NaiveValue y;
  for (const int dim : order)
    y.dims.push_back(x.dims[static_cast<size_t>(dim)]);
  for (size_t i = 0; i < x.data.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i);
    int64_t from = 0;
    for (size_t dim = y.dims.size(); dim-- > 0;) {
      from += rest % y.dims[dim] * strides[static_cast<size_t>(order[dim])];
      rest /= y.dims[dim];
    }
    y.data.push_back(x.data[static_cast<size_t>(from)]);
  }
  return y;
}

class RandomArrangement {
 public:
  explicit RandomArrangement(uint32_t seed) : random_(seed) {}

  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }

  Order AnyOrder(size_t rank) {
    Order order = Identity(static_cast<int>(rank));
    for (size_t i = rank; i-- > 1;) {
      std::swap(order[i],
                order[static_cast<size_t>(Below(static_cast<int64_t>(i) + 1))]);
    }
    return order;
  }

  // Any dimensions of so many elements, a few of them 1.
  std::vector<int64_t> AnyDims(int64_t elements) {
    std::vector<int64_t> dims;
    while (elements > 1 && dims.size() < 4) {
      std::vector<int64_t> divisors;
      for (int64_t d = 1; d <= elements; ++d) {
        if (elements % d == 0) divisors.push_back(d);
      }
      dims.push_back(divisors[static_cast<size_t>(
          Below(static_cast<int64_t>(divisors.size())))]);
      elements /= dims.back();
    }
    dims.push_back(elements);
    return dims;
  }

 private:
  std::mt19937 random_;
};

// Runs the graph with x = 0, 1, 2, ... and returns y.
std::vector<float> Evaluate(GraphBuilder& g, Tensor x, Tensor y) {
  const Tensor sum = g.Add(
      g, {.op = "Mul",
          .inputs = {y, g.Add(g, {.op = "Const",
                                  .attributes = {{"dtype", DType::kFloat32},
                                                 {"shape", Shape()},
                                                 {"value", 1.0}}})}});
  absl::StatusOr<Graph> graph = std::move(g).Build();
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  auto session = testing::NewSession(
      Program{.graph = *std::move(graph), .fetches = {sum}});
  EXPECT_TRUE(session.ok()) << session.status();
  std::vector<float> data(static_cast<size_t>(x.shape().num_elements()));
  std::iota(data.begin(), data.end(), 0.0F);
  auto result = (*session)->Step(
      testing::FeedsOf({{x.id(), testing::MakeHostTensor(x.type(), data)}}));
  EXPECT_TRUE(result.ok()) << result.status();
  const HostTensor& tensor = result->fetched[sum.id()];
  return {tensor.data<float>(),
          tensor.data<float>() + tensor.type.num_elements()};
}

// Permutations and new dimensions in any order give the elements that moving
// them each time would have given.
TEST(ArrangedTest, IsTheValueWhateverIsDoneToIt) {
  for (uint32_t seed = 0; seed < testing::NumCases(200); ++seed) {
    SCOPED_TRACE(seed);
    RandomArrangement random(seed);
    constexpr int64_t kElements = 48;
    NaiveValue naive = {.dims = random.AnyDims(kElements)};
    naive.data.resize(kElements);
    std::iota(naive.data.begin(), naive.data.end(), 0.0F);
    GraphBuilder g;
    const Tensor fed = g.Placeholder("x", DType::kFloat32, Shape(naive.dims));
    Arranged x = AsIs(fed);
    const int64_t count = 1 + random.Below(5);
    for (int64_t i = 0; i < count; ++i) {
      if (random.Below(2) == 0) {
        const Order order = random.AnyOrder(naive.dims.size());
        x = Permute(x, order);
        naive = NaivePermute(naive, order);
      } else {
        naive.dims = random.AnyDims(kElements);
        x = Reshaped(g, x, Shape(naive.dims));
      }
      ASSERT_EQ(x.dims, Shape(naive.dims));
    }
    const Order order = random.AnyOrder(naive.dims.size());
    const Tensor y = Ordered(g, x, order);
    EXPECT_EQ(y.shape(), Shape(NaivePermute(naive, order).dims));
    EXPECT_EQ(Evaluate(g, fed, y), NaivePermute(naive, order).data);
  }
}

// The sum of two values, each in its own arrangement: as that of the first.
TEST(ArrangedTest, MatchesAnotherArrangementElementByElement) {
  int matched = 0;
  for (uint32_t seed = 0; seed < testing::NumCases(200); ++seed) {
    SCOPED_TRACE(seed);
    RandomArrangement random(seed);
    const std::vector<int64_t> dims = {2, 3, 4, 2};
    GraphBuilder g;
    const Tensor fed = g.Placeholder("x", DType::kFloat32, Shape(dims));
    const Order first = random.AnyOrder(4);
    const Order second = random.AnyOrder(4);
    // Both are the value of `fed`.
    const auto arranged = [&](const Order& order) {
      return InOrder(Ordered(g, AsIs(fed), order), order);
    };
    Arranged like = arranged(first);
    Arranged x = arranged(second);
    if (random.Below(2) == 0) {
      const Shape flat({2, 24});
      like = Reshaped(g, like, flat);
      x = Reshaped(g, x, flat);
    }
    const std::optional<Tensor> tensor = Matching(g, x, like);
    if (!tensor.has_value()) continue;
    ++matched;
    Arranged y = like;
    y.tensor = *tensor;
    EXPECT_EQ(tensor->shape(), like.tensor.shape());
    const Tensor in_order = Ordered(g, y, Identity(y.rank()));
    std::vector<float> expected(48);
    std::iota(expected.begin(), expected.end(), 0.0F);
    EXPECT_EQ(Evaluate(g, fed, in_order), expected);
  }
  EXPECT_GT(matched, testing::LeastCases(150));
}

TEST(ArrangedTest, ChangesOfTheNoteAddNoNode) {
  GraphBuilder g;
  const Tensor nhwc = g.Placeholder("x", DType::kFloat32, {2, 4, 4, 3});
  const Arranged x = InOrder(nhwc, ChannelsLast(4));
  EXPECT_EQ(x.dims, Shape({2, 3, 4, 4}));
  const Arranged flat = Reshaped(g, x, Shape({2, 48}));
  EXPECT_THAT(flat.axes, ElementsAre(ElementsAre(0), ElementsAre(3, 1, 2)));
  const Arranged turned = Permute(flat, {1, 0});
  EXPECT_THAT(turned.axes, ElementsAre(ElementsAre(3, 1, 2), ElementsAre(0)));
  EXPECT_EQ(g.graph().num_nodes(), 1u);
  EXPECT_EQ(Ordered(g, x, ChannelsLast(4)).id(), nhwc.id());
}

TEST(ArrangedTest, DimensionsOfOneAreAnywhere) {
  GraphBuilder g;
  const Tensor pooled = g.Placeholder("x", DType::kFloat32, {2, 1, 1, 3});
  const Arranged x = InOrder(pooled, ChannelsLast(4));
  const Tensor flat = Ordered(g, Reshaped(g, x, Shape({2, 3})), Identity(2));
  EXPECT_EQ(flat.shape(), Shape({2, 3}));
  ASSERT_EQ(g.graph().num_nodes(), 2u);
  EXPECT_EQ(g.graph().producer(flat).op, "Reshape");
}

TEST(ArrangedTest, ABroadcastDimensionHasSizeOneInTheMatch) {
  GraphBuilder g;
  const Arranged x = InOrder(g.Placeholder("x", DType::kFloat32, {2, 4, 4, 3}),
                             ChannelsLast(4));
  const Arranged gate =
      RaiseRank(AsIs(g.Placeholder("gate", DType::kFloat32, {3, 1, 1})), 4);
  const std::optional<Tensor> tensor = Matching(g, gate, x);
  ASSERT_TRUE(tensor.has_value());
  EXPECT_EQ(tensor->shape(), Shape({1, 1, 1, 3}));
}

TEST(ArrangedTest, ASplitThatCutsThroughAnAxisIsOrderedFirst) {
  GraphBuilder g;
  const Arranged x = InOrder(g.Placeholder("x", DType::kFloat32, {2, 4, 4, 3}),
                             ChannelsLast(4));
  // 3 16 = 4 12: the groups end within no axis only after ordering.
  EXPECT_FALSE(Regroup(g, x, Shape({2, 4, 12})).has_value());
  EXPECT_EQ(Reshaped(g, x, Shape({2, 4, 12})).dims, Shape({2, 4, 12}));
}

}  // namespace
}  // namespace spillway::onnx_model
