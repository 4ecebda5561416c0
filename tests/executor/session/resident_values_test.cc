#include "executor/session/resident_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "base/random.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr uint64_t kSeed = 17;

Attributes With(AttributeValue::Object initializer) {
  Attributes attributes;
  attributes.Set("initializer", std::move(initializer));
  return attributes;
}

template <typename T = float>
std::vector<T> Fill(const Attributes& attributes, const TensorType& type,
                    std::string_view name = "weights", uint64_t seed = kSeed) {
  std::vector<T> values(static_cast<size_t>(type.num_elements()));
  EXPECT_THAT(FillInitial(attributes, type, seed, name, values.data()), IsOk());
  return values;
}

struct Moments {
  double mean = 0;
  double stddev = 0;
  double most = 0;  // largest magnitude
};

Moments MomentsOf(const std::vector<float>& values) {
  const auto n = static_cast<double>(values.size());
  Moments moments;
  for (const double x : values) {
    moments.mean += x / n;
    moments.most = std::max(moments.most, std::abs(x));
  }
  for (const double x : values) {
    moments.stddev += (x - moments.mean) * (x - moments.mean) / n;
  }
  moments.stddev = std::sqrt(moments.stddev);
  return moments;
}

TEST(FillInitial, WritesZerosWithoutAnInitializer) {
  EXPECT_THAT(Fill(Attributes(), {.shape = {3}}), ElementsAre(0, 0, 0));
}

TEST(FillInitial, WritesConstants) {
  EXPECT_THAT(Fill(With({{"kind", "zeros"}}), {.shape = {2}}),
              ElementsAre(0, 0));
  EXPECT_THAT(Fill(With({{"kind", "ones"}}), {.shape = {2}}),
              ElementsAre(1, 1));
  EXPECT_THAT(
      Fill(With({{"kind", "constant"}, {"value", 0.25}}), {.shape = {2}}),
      ElementsAre(0.25, 0.25));
  EXPECT_THAT(Fill<int64_t>(With({{"kind", "constant"}, {"value", -3}}),
                            {.dtype = DType::kInt64, .shape = {2}}),
              ElementsAre(-3, -3));
}

// Large enough to be filled in several parts: each element must still be the
// number that base/random.h defines for its index.
TEST(FillInitial, DrawsElementIFromTheStreamOfSeedAndName) {
  const TensorType type = {.shape = {1000, 1000}};
  const std::vector<float> normal =
      Fill(With({{"kind", "normal"}, {"mean", 2}, {"stddev", 3}}), type, "a/b");
  const uint64_t key = MixKeys(kSeed, HashName("a/b"));
  for (const size_t i : {0UL, 1UL, 499'999UL, 500'000UL, 999'999UL}) {
    EXPECT_EQ(normal[i], static_cast<float>(2 + 3 * NormalAt(key, i)));
  }
}

TEST(FillInitial, DependsOnSeedAndNameOnly) {
  const Attributes normal = With({{"kind", "normal"}});
  const TensorType type = {.shape = {64}};
  EXPECT_EQ(Fill(normal, type, "a", 1), Fill(normal, type, "a", 1));
  EXPECT_NE(Fill(normal, type, "a", 1), Fill(normal, type, "b", 1));
  EXPECT_NE(Fill(normal, type, "a", 1), Fill(normal, type, "a", 2));
}

// Large enough for several parts.
TEST(FillInitial, IsTheSameOnAnyNumberOfThreads) {
  const TensorType type = {DType::kFloat32, Shape({(3 << 19) + 5})};
  const Attributes attributes = {
      {"initializer", AttributeValue::Object{{"kind", "truncated_normal"}}}};
  const auto fill = [&](HostThreads* threads) {
    std::vector<float> out(static_cast<size_t>(type.num_elements()), -99);
    EXPECT_TRUE(
        FillInitial(attributes, type, 3, "w", out.data(), threads).ok());
    return out;
  };
  const std::vector<float> alone = fill(nullptr);
  EXPECT_EQ(std::ranges::count(alone, -99.0F), 0);
  for (const int threads : {1, 2, 5}) {
    HostThreads host_threads(threads);
    EXPECT_TRUE(fill(&host_threads) == alone) << threads;
  }
}

TEST(FillInitial, DrawsNormalsOfTheStatedMoments) {
  const Moments moments =
      MomentsOf(Fill(With({{"kind", "normal"}, {"mean", 2}, {"stddev", 3}}),
                     {.shape = {200'000}}));
  EXPECT_NEAR(moments.mean, 2, 0.03);
  EXPECT_NEAR(moments.stddev, 3, 0.03);
}

TEST(FillInitial, TruncatesAtTwoStandardDeviations) {
  const Moments moments =
      MomentsOf(Fill(With({{"kind", "truncated_normal"}, {"stddev", 3}}),
                     {.shape = {200'000}}));
  EXPECT_LE(moments.most, 6);
  EXPECT_GT(moments.most, 5.9);
  EXPECT_NEAR(moments.stddev, 3 * 0.8796, 0.03);
}

TEST(FillInitial, DrawsUniformNumbersWithinTheirEnds) {
  const Moments scaled = MomentsOf(
      Fill(With({{"kind", "uniform"}, {"scale", 0.5}}), {.shape = {100'000}}));
  EXPECT_NEAR(scaled.mean, 0, 0.01);
  EXPECT_NEAR(scaled.stddev, 1 / std::sqrt(12.0), 0.01);
  EXPECT_LE(scaled.most, 0.5);
  const Moments ends =
      MomentsOf(Fill(With({{"kind", "uniform"}, {"min", 3}, {"max", 5}}),
                     {.shape = {100'000}}));
  EXPECT_NEAR(ends.mean, 4, 0.02);
  EXPECT_LE(ends.most, 5);
}

struct Scaling {
  std::string name;
  Shape shape;
  AttributeValue::Object fields = {};
  double variance = 1;
};

class VarianceScaling : public ::testing::TestWithParam<Scaling> {};

TEST_P(VarianceScaling, HasTheVarianceOfScaleOverFan) {
  AttributeValue::Object fields = GetParam().fields;
  fields["kind"] = "variance_scaling";
  const Moments moments =
      MomentsOf(Fill(With(std::move(fields)), {.shape = GetParam().shape}));
  EXPECT_NEAR(moments.mean, 0, 0.02 * std::sqrt(GetParam().variance));
  EXPECT_NEAR(moments.stddev / std::sqrt(GetParam().variance), 1, 0.02);
}

// Filters [O, KH, KW, I], matrices [in, out].
INSTANTIATE_TEST_SUITE_P(
    Kinds, VarianceScaling,
    ::testing::Values(Scaling{.name = "FilterFanIn",
                              .shape = {64, 3, 5, 32},
                              .variance = 1.0 / (3 * 5 * 32)},
                      Scaling{.name = "FilterFanOut",
                              .shape = {64, 3, 5, 32},
                              .fields = {{"mode", "fan_out"}, {"scale", 2}},
                              .variance = 2.0 / (3 * 5 * 64)},
                      Scaling{.name = "FilterFanAverage",
                              .shape = {64, 3, 5, 32},
                              .fields = {{"mode", "fan_avg"}},
                              .variance = 1.0 / (3 * 5 * 48)},
                      Scaling{.name = "VolumeFilterFanIn",
                              .shape = {32, 3, 3, 3, 16},
                              .variance = 1.0 / (27 * 16)},
                      Scaling{.name = "MatrixFanIn",
                              .shape = {100, 300},
                              .variance = 1.0 / 100},
                      Scaling{.name = "MatrixFanOut",
                              .shape = {100, 300},
                              .fields = {{"mode", "fan_out"}},
                              .variance = 1.0 / 300},
                      Scaling{.name = "Normal",
                              .shape = {100, 300},
                              .fields = {{"distribution", "normal"}},
                              .variance = 1.0 / 100},
                      Scaling{.name = "Uniform",
                              .shape = {100, 300},
                              .fields = {{"distribution", "uniform"}},
                              .variance = 1.0 / 100}),
    [](const auto& info) { return info.param.name; });

struct Orthogonal {
  std::string name;
  Shape shape;
  AttributeValue::Object fields = {};
  double scale = 1.414;
};

class OrthogonalKind : public ::testing::TestWithParam<Orthogonal> {};

// Q Q^T = scale^2 I, where Q has the first dimension as its rows; Q^T Q if it
// has more rows than columns.
TEST_P(OrthogonalKind, IsOrthogonalAlongItsSmallerDimension) {
  AttributeValue::Object fields = GetParam().fields;
  fields["kind"] = "orthogonal";
  const std::vector<float> values =
      Fill(With(std::move(fields)), {.shape = GetParam().shape});
  const auto rows = static_cast<size_t>(GetParam().shape.dim(0));
  const size_t columns = values.size() / rows;
  const bool is_wide = rows <= columns;
  const auto at = [&](size_t vector, size_t i) {
    return double{is_wide ? values[vector * columns + i]
                          : values[i * columns + vector]};
  };
  for (size_t a = 0; a < std::min(rows, columns); ++a) {
    for (size_t b = 0; b <= a; ++b) {
      double product = 0;
      for (size_t i = 0; i < std::max(rows, columns); ++i) {
        product += at(a, i) * at(b, i);
      }
      const double expected = a == b ? GetParam().scale * GetParam().scale : 0;
      EXPECT_NEAR(product, expected, 1e-5) << a << " " << b;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, OrthogonalKind,
    ::testing::Values(
        Orthogonal{.name = "Filter", .shape = {16, 3, 5, 4}},
        Orthogonal{.name = "FilterWithMoreOutputs", .shape = {64, 1, 1, 24}},
        Orthogonal{.name = "VolumeFilter", .shape = {8, 3, 3, 3, 2}},
        Orthogonal{.name = "Matrix", .shape = {70, 30}},
        Orthogonal{.name = "MatrixWithMoreOutputs", .shape = {30, 70}},
        Orthogonal{.name = "Square", .shape = {32, 32}},
        Orthogonal{.name = "OfNormals",
                   .shape = {40, 50},
                   .fields = {{"distribution", "normal"}}},
        Orthogonal{.name = "Scaled",
                   .shape = {40, 50},
                   .fields = {{"scale", 0.5}},
                   .scale = 0.5}),
    [](const auto& info) { return info.param.name; });

// Large enough for several parts; a column per input.
TEST(FillInitial, MakesTheSameOrthogonalMatrixOnAnyNumberOfThreads) {
  const TensorType type = {.shape = {3000, 100}};
  const Attributes attributes = With({{"kind", "orthogonal"}});
  const std::vector<float> alone = Fill(attributes, type, "w");
  for (const int threads : {2, 5}) {
    HostThreads host_threads(threads);
    std::vector<float> out(alone.size());
    EXPECT_THAT(
        FillInitial(attributes, type, kSeed, "w", out.data(), &host_threads),
        IsOk());
    EXPECT_TRUE(out == alone) << threads;
  }
  EXPECT_NE(Fill(attributes, type, "v"), alone);
}

struct Refused {
  std::string name;
  AttributeValue initializer;
  DType dtype = DType::kFloat32;
  std::string error;
};

class BadInitializer : public ::testing::TestWithParam<Refused> {};

TEST_P(BadInitializer, IsRefusedWithItsReason) {
  Attributes attributes;
  attributes.Set("initializer", GetParam().initializer);
  EXPECT_THAT(
      CheckInitializer(attributes, {.dtype = GetParam().dtype, .shape = {4}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr(GetParam().error)));
}

using Object = AttributeValue::Object;

INSTANTIATE_TEST_SUITE_P(
    Initializers, BadInitializer,
    ::testing::Values(
        Refused{.name = "Text",
                .initializer = "zeros",
                .error = "attribute 'initializer' must be an object"},
        Refused{.name = "WithoutKind",
                .initializer = Object{{"value", 1}},
                .error = "attribute 'kind' is missing"},
        Refused{.name = "UnknownField",
                .initializer = Object{{"kind", "ones"}, {"sttdev", 1}},
                .error = "has no field 'sttdev'"},
        Refused{.name = "NegativeSpread",
                .initializer = Object{{"kind", "normal"}, {"stddev", -1}},
                .error = "attribute 'stddev' is -1"},
        Refused{
            .name = "EmptyRange",
            .initializer = Object{{"kind", "uniform"}, {"min", 2}, {"max", 1}},
            .error = "uniform from 2 to 1 is empty"},
        Refused{.name = "UnknownMode",
                .initializer = Object{{"kind", "variance_scaling"},
                                      {"mode", "fan"}},
                .error = "mode 'fan' is none of"},
        Refused{.name = "UnknownDistribution",
                .initializer = Object{{"kind", "variance_scaling"},
                                      {"distribution", "cauchy"}},
                .error = "distribution 'cauchy' is none of"},
        Refused{.name = "OrthogonalVector",
                .initializer = Object{{"kind", "orthogonal"}},
                .error = "orthogonal needs 2 dimensions or more, not 1"},
        Refused{.name = "OrthogonalOfUnknownDistribution",
                .initializer = Object{{"kind", "orthogonal"},
                                      {"distribution", "truncated_normal"}},
                .error = "distribution 'truncated_normal' is none of uniform, "
                         "normal"},
        Refused{.name = "OrthogonalOfNegativeScale",
                .initializer = Object{{"kind", "orthogonal"}, {"scale", -1}},
                .error = "attribute 'scale' is -1"},
        Refused{.name = "RandomIntegers",
                .initializer = Object{{"kind", "normal"}},
                .dtype = DType::kInt32,
                .error = "random kinds are for floating types"},
        Refused{.name = "FractionOfAnInteger",
                .initializer = Object{{"kind", "constant"}, {"value", 0.5}},
                .dtype = DType::kInt32,
                .error = "0.5 is not a int32"},
        Refused{.name = "ConstantWithoutValue",
                .initializer = Object{{"kind", "constant"}},
                .error = "attribute 'value' is missing"}),
    [](const auto& info) { return info.param.name; });

template <typename T>
std::vector<T> Constant(const Attributes& attributes, const TensorType& type) {
  std::vector<T> values(static_cast<size_t>(type.num_elements()));
  EXPECT_THAT(FillConstant(attributes, type, values.data()), IsOk());
  return values;
}

TEST(FillConstant, FillsWithOneValueOrCopiesAList) {
  EXPECT_THAT(Constant<float>({{"value", 1.5}}, {.shape = {3}}),
              ElementsAre(1.5, 1.5, 1.5));
  EXPECT_THAT(Constant<float>({{"values", {1, 2.5}}}, {.shape = {2, 1}}),
              ElementsAre(1, 2.5));
  EXPECT_THAT(Constant<uint8_t>({{"value", true}},
                                {.dtype = DType::kBool, .shape = {2}}),
              ElementsAre(1, 1));
  EXPECT_THAT(Constant<int32_t>({{"values", {-1, 7}}},
                                {.dtype = DType::kInt32, .shape = {2}}),
              ElementsAre(-1, 7));
}

TEST(FillConstant, RefusesWhatTheTypeCannotHold) {
  const TensorType bytes = {.dtype = DType::kUInt8, .shape = {2}};
  EXPECT_THAT(CheckConstant({{"value", 256}}, bytes),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("256 is not a uint8")));
  EXPECT_THAT(CheckConstant({{"values", {1, -1}}}, bytes),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("-1 is not a uint8")));
  EXPECT_THAT(CheckConstant({{"value", 1}, {"values", {1, 1}}}, bytes),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("either attribute 'value' or 'values'")));
}

TEST(FillInitial, RoundsToBFloat16) {
  const TensorType type = {.dtype = DType::kBFloat16, .shape = {100}};
  const Attributes normal = With({{"kind", "normal"}});
  const std::vector<BFloat16> values = Fill<BFloat16>(normal, type);
  const std::vector<float> exact = Fill(normal, {.shape = {100}});
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(values[i], ToBFloat16(exact[i])) << i;
  }
}

TEST(FillInitial, RoundsToFloat16) {
  const TensorType type = {.dtype = DType::kFloat16, .shape = {100}};
  const Attributes normal = With({{"kind", "normal"}});
  const std::vector<Float16> values = Fill<Float16>(normal, type);
  const std::vector<float> exact = Fill(normal, {.shape = {100}});
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(values[i], ToFloat16(exact[i])) << i;
  }
}

TEST(FillConstant, KnowsTheLargestBFloat16) {
  const TensorType type = {.dtype = DType::kBFloat16, .shape = {1}};
  EXPECT_THAT(CheckConstant({{"value", 0x1.FEp127}}, type), IsOk());
  EXPECT_THAT(CheckConstant({{"value", 0x1.FFp127}}, type),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is not a bfloat16")));
}

TEST(FillResident, NamesTheNodeInItsErrors) {
  Graph graph;
  const NodeId too_large = graph.AddNode(
      {.name = "w",
       .op = "Const",
       .outputs = {{.dtype = DType::kFloat16, .shape = {2}}},
       .attributes = {{"dtype", "float16"}, {"shape", {2}}, {"value", 65536}}});
  const NodeId relu =
      graph.AddNode({.name = "r", .op = "Relu", .outputs = {{}}});
  float out[2];
  EXPECT_THAT(FillResident(graph, too_large, kSeed, out),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("w: 65536 is not a float16")));
  EXPECT_THAT(FillResident(graph, relu, kSeed, out),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("r: op Relu has no first value")));
}

}  // namespace
}  // namespace spillway
