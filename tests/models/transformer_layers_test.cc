#include "models/layers/transformer_layers.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/support/eval_graph.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::EvalGraph;
using testing::EvalState;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeHostTensor;
using ::testing::Pointwise;
using testing::StatusIs;

using Floats = std::vector<float>;

Floats Normals(int64_t count, uint64_t key) {
  Floats values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(
        static_cast<float>(NormalAt(key, static_cast<uint64_t>(i))));
  }
  return values;
}

Floats ToFloats(const HostTensor& tensor) {
  const float* data = tensor.data<float>();
  return {data, data + tensor.type.num_elements()};
}

struct Evaluated {
  Floats y;
  std::map<std::string, Floats> variables;
};

// One step with this x, and normal numbers in place of all variables.
Evaluated Evaluate(const Graph& graph, Tensor x, const HostTensor& fed,
                   Tensor y) {
  EvalState state;
  Evaluated run;
  for (const Node& node : graph.nodes()) {
    if (node.op != "Variable") continue;
    const TensorType type = graph.type(node.outputs[0]);
    Floats values = Normals(type.num_elements(), run.variables.size() + 7);
    for (float& value : values) value /= 4;
    state.variables[node.name] = MakeHostTensor(type, values);
    run.variables[node.name] = values;
  }
  const ValueId fetches[] = {y.id()};
  const auto values = EvalGraph(graph, {{x.id(), fed}}, fetches, state);
  EXPECT_THAT(values, IsOk());
  if (values.ok()) run.y = ToFloats(values->at(fetches[0]));
  return run;
}

// rows [n, in] times weights [in, out], plus biases.
Floats NaiveDense(const Floats& rows, const Floats& weights,
                  const Floats& biases) {
  const size_t out = biases.size();
  const size_t in = weights.size() / out;
  Floats y;
  for (size_t row = 0; row < rows.size() / in; ++row) {
    for (size_t o = 0; o < out; ++o) {
      double sum = biases[o];
      for (size_t i = 0; i < in; ++i) {
        sum += double{rows[row * in + i]} * weights[i * out + o];
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  return y;
}

struct Sizes {
  size_t batch = 2;
  size_t length = 5;
  size_t width = 6;
  size_t heads = 3;
};

// Place by place, in double; `all` [batch, length, 3, heads, depth].
Floats NaiveMix(const Floats& all, const Sizes& size, bool is_causal) {
  const size_t depth = size.width / size.heads;
  const auto at = [&](size_t b, size_t t, size_t part, size_t h, size_t d) {
    const size_t place = (b * size.length + t) * 3 + part;
    return double{all[(place * size.heads + h) * depth + d]};
  };
  Floats mixed(size.batch * size.length * size.width);
  for (size_t b = 0; b < size.batch; ++b) {
    for (size_t h = 0; h < size.heads; ++h) {
      for (size_t t = 0; t < size.length; ++t) {
        const size_t seen = is_causal ? t + 1 : size.length;
        std::vector<double> weights;
        double sum = 0;
        for (size_t s = 0; s < seen; ++s) {
          double score = 0;
          for (size_t d = 0; d < depth; ++d) {
            score += at(b, t, 0, h, d) * at(b, s, 1, h, d);
          }
          weights.push_back(std::exp(score / std::sqrt(double(depth))));
          sum += weights.back();
        }
        for (size_t d = 0; d < depth; ++d) {
          double value = 0;
          for (size_t s = 0; s < seen; ++s) {
            value += weights[s] / sum * at(b, s, 2, h, d);
          }
          mixed[(b * size.length + t) * size.width + h * depth + d] =
              static_cast<float>(value);
        }
      }
    }
  }
  return mixed;
}

TEST(TransformerLayersTest, AttentionIsThatOfANaiveTwin) {
  const Sizes size;
  for (const bool is_causal : {false, true}) {
    GraphBuilder g(StandardOps());
    const Tensor x = g.Placeholder("x", DType::kFloat32, {2, 5, 6});
    const Tensor y =
        SelfAttention(g.Scope("a"), x, {.heads = 3, .is_causal = is_causal});
    const TensorType type = x.type();
    ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
    const Floats fed = Normals(60, 3);
    Evaluated run = Evaluate(graph, x, MakeHostTensor(type, fed), y);
    const Floats all = NaiveDense(fed, run.variables["a/qkv/weights"],
                                  run.variables["a/qkv/biases"]);
    const Floats expected = NaiveDense(NaiveMix(all, size, is_causal),
                                       run.variables["a/out/weights"],
                                       run.variables["a/out/biases"]);
    EXPECT_THAT(run.y, Pointwise(FloatNear(1e-5F), expected)) << is_causal;
  }
}

TEST(TransformerLayersTest, HeadsMustDivideTheWidth) {
  GraphBuilder g(StandardOps());
  SelfAttention(g.Scope("a"), g.Placeholder("x", DType::kFloat32, {2, 5, 6}),
                {.heads = 4});
  EXPECT_THAT(g.status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("4 heads do not divide a width of 6")));
}

// What a place says does not depend on later tokens.
TEST(TransformerLayersTest, ALanguageModelDoesNotSeeLaterTokens) {
  GraphBuilder g(StandardOps());
  ASSERT_OK_AND_ASSIGN(
      const ModelGraph model,
      BuildModel(g, "gpt_tiny",
                 {.batch_size = 1, .image_size = 6, .num_classes = 5}));
  const TensorType type = model.images.type();
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
  const auto logits = [&](const std::vector<int32_t>& tokens) {
    return Evaluate(graph, model.images, MakeHostTensor(type, tokens),
                    model.logits)
        .y;
  };
  const Floats first = logits({0, 1, 2, 3, 4, 0});
  const Floats other = logits({0, 1, 2, 4, 1, 3});
  ASSERT_EQ(first.size(), 30U);
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + 15, other.begin()));
  EXPECT_FALSE(std::equal(first.begin() + 15, first.end(), other.begin() + 15));
}

// The published count (Touvron et al. 2021 and its implementations), and one by
// hand: a table of 256 and 64 places, and four blocks of 198,272.
TEST(TransformerLayersTest, ParametersAreThoseOfThePublishedNetworks) {
  for (const auto& [name, parameters] :
       {std::pair("vit_tiny", 5'717'416), std::pair("gpt_tiny", 834'304)}) {
    GraphBuilder g(StandardOps());
    ASSERT_THAT(BuildModel(g, name), IsOk());
    EXPECT_EQ(CountParameters(g.graph()), parameters) << name;
  }
}

TEST(TransformerLayersTest, AnImageOfPartsOfPatchesIsRefused) {
  GraphBuilder g(StandardOps());
  EXPECT_THAT(BuildModel(g, "vit_tiny", {.image_size = 40}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("image_size is 40")));
}

}  // namespace
}  // namespace spillway
