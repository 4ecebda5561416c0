#include "tests/ops/cases/conv_case.h"

#include <fmt/format.h>

#include <utility>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "tests/ops/cases/bfloat16_case.h"
#include "tests/ops/cases/float16_cases.h"
#include "tests/ops/cases/multi_index.h"

namespace spillway::testing {
namespace {

int64_t At(const Sizes& sizes, size_t axis, int64_t fallback) {
  return sizes.empty() ? fallback : sizes[axis];
}

size_t NumSpatial(const Conv& conv) { return conv.x.dims().size() - 2; }

std::string OpName(const Conv& conv, const std::string& rest) {
  return fmt::format("Conv{}D{}", NumSpatial(conv), rest);
}

Sizes OrOnes(const Conv& conv, const Sizes& sizes) {
  return sizes.empty() ? Sizes(NumSpatial(conv), 1) : sizes;
}

Attributes AttributesOf(const Conv& conv) {
  Attributes attributes = {{"strides", OrOnes(conv, conv.strides)},
                           {"padding", conv.padding},
                           {"dilations", OrOnes(conv, conv.dilations)},
                           {"groups", conv.groups}};
  if (conv.padding == "EXPLICIT") {
    AttributeValue::List paddings;
    for (size_t axis = 0; axis < NumSpatial(conv); ++axis) {
      paddings.push_back(AttributeValue::List{At(conv.pad_before, axis, 0),
                                              At(conv.pad_after, axis, 0)});
    }
    attributes.Set("explicit_paddings", paddings);
  }
  return attributes;
}

// The dimensions between the first and the last.
Shape Spatial(const Shape& shape) {
  return Shape(std::vector(shape.dims().begin() + 1, shape.dims().end() - 1));
}

// One element of the window over one pixel of y; all three indices are
// row-major.
struct Tap {
  size_t x = 0;
  size_t filter = 0;
  size_t y = 0;
};

// Finds the pixel of x for element `k` of the window over pixel `o`; false:
// outside.
bool FindPixel(const Conv& conv, const Index& o, const Index& k, Index& x) {
  x.resize(o.size());
  for (size_t axis = 0; axis < o.size(); ++axis) {
    x[axis] = o[axis] * At(conv.strides, axis, 1) -
              At(conv.pad_before, axis, 0) +
              k[axis] * At(conv.dilations, axis, 1);
    if (x[axis] < 0 || x[axis] >= Spatial(conv.x).dims()[axis]) return false;
  }
  return true;
}

// All taps that are inside x.
std::vector<Tap> TapsOf(const Conv& conv) {
  const Shape x = Spatial(conv.x);
  const Shape filter = Spatial(conv.filter);
  const Shape y = Spatial(conv.y);
  std::vector<Tap> taps;
  Index pixel;
  for (const Index& o : AllIndices(y)) {
    for (const Index& k : AllIndices(filter)) {
      if (!FindPixel(conv, o, k, pixel)) continue;
      taps.push_back({Flat(x, pixel), Flat(filter, k), Flat(y, o)});
    }
  }
  return taps;
}

// Calls fn(x, filter, y), three indices, for every product of the convolution.
template <typename Fn>
void ForEachProduct(const Conv& conv, const std::vector<Tap>& taps, Fn fn) {
  const auto in = static_cast<size_t>(conv.filter.dim(-1));
  const auto out = static_cast<size_t>(conv.filter.dim(0));
  const size_t out_of_group = out / static_cast<size_t>(conv.groups);
  const auto channels = static_cast<size_t>(conv.x.dim(-1));
  const auto window = static_cast<size_t>(Spatial(conv.filter).num_elements());
  const auto x_pixels = static_cast<size_t>(Spatial(conv.x).num_elements());
  const auto y_pixels = static_cast<size_t>(Spatial(conv.y).num_elements());
  for (size_t n = 0; n < static_cast<size_t>(conv.x.dim(0)); ++n) {
    for (const Tap& tap : taps) {
      for (size_t o = 0; o < out; ++o) {
        const size_t x =
            (n * x_pixels + tap.x) * channels + o / out_of_group * in;
        const size_t filter = (o * window + tap.filter) * in;
        const size_t y = (n * y_pixels + tap.y) * out + o;
        for (size_t i = 0; i < in; ++i) fn(x + i, filter + i, y);
      }
    }
  }
}

Doubles Zeros(const Shape& shape) {
  return Doubles(static_cast<size_t>(shape.num_elements()), 0);
}

Reference Forward(const Conv& conv) {
  return [conv, taps = TapsOf(conv)](const DoublesList& in) {
    Doubles y = Zeros(conv.y);
    ForEachProduct(conv, taps, [&](size_t i, size_t f, size_t o) {
      y[o] += in[0][i] * in[1][f];
    });
    return DoublesList{y};
  };
}

// `filter` and `dy` are indices of inputs.
Reference InputGradient(const Conv& conv, size_t filter, size_t dy) {
  return [=, taps = TapsOf(conv)](const DoublesList& in) {
    Doubles dx = Zeros(conv.x);
    ForEachProduct(conv, taps, [&](size_t i, size_t f, size_t o) {
      dx[i] += in[filter][f] * in[dy][o];
    });
    return DoublesList{dx};
  };
}

Reference FilterGradient(const Conv& conv) {
  return [conv, taps = TapsOf(conv)](const DoublesList& in) {
    Doubles dfilter = Zeros(conv.filter);
    ForEachProduct(conv, taps, [&](size_t i, size_t f, size_t o) {
      dfilter[f] += in[0][i] * in[1][o];
    });
    return DoublesList{dfilter};
  };
}

double Flops(const Conv& conv) {
  return 2.0 * static_cast<double>(conv.y.num_elements()) *
         static_cast<double>(conv.filter.num_elements()) /
         static_cast<double>(conv.filter.dim(0));
}

std::vector<int> GradientsOf(const Conv& conv) {
  return conv.is_small ? std::vector{0, 1} : std::vector<int>{};
}

OpCase Narrow(OpCase base, const StaysFloat32& stays = {}) {
  OpCase narrow = InBFloat16(std::move(base), stays);
  narrow.gradients = {};
  narrow.needs_avx512 = true;
  return narrow;
}

// The reference with `round` applied to one input first.
template <typename Round>
Reference Rounding(size_t input, Round round, Reference reference) {
  return [=](DoublesList in) {
    for (double& x : in[input]) x = ToFloat(round(static_cast<float>(x)));
    return reference(in);
  };
}

// With a float32 filter (input `filter`), which the op rounds to bfloat16; and
// one with a filter that it rounds to float16.
std::vector<OpCase> NarrowButFilter(const OpCase& base, size_t filter) {
  OpCase narrow = Narrow(base, {.inputs = {static_cast<int>(filter)}});
  narrow.name += "Mixed";
  OpCase twin = Float16Twin(narrow);
  narrow.reference = Rounding(filter, ToBFloat16, base.reference);
  twin.reference = Rounding(filter, ToFloat16, base.reference);
  return {narrow, twin};
}

// With a float32 gradient, which is exact except for the order of its sums.
OpCase NarrowButOutput(const OpCase& base) {
  OpCase narrow = Narrow(base, {.outputs = {0}});
  narrow.name += "Mixed";
  narrow.attributes.Set("dtype", DType::kFloat32);
  narrow.tolerance = base.tolerance;
  return narrow;
}

OpCase ConvCase(const Conv& conv) {
  const std::string op = OpName(conv, "");
  return {.name = op + conv.name,
          .op = op,
          .inputs = {{.type = Float32(conv.x)}, {.type = Float32(conv.filter)}},
          .attributes = AttributesOf(conv),
          .outputs = {Float32(conv.y)},
          .reference = Forward(conv),
          .tolerance = 3e-4,
          .gradients = GradientsOf(conv),
          .flops = Flops(conv),
          .same_bits_for_any_threads = false};
}

OpCase ConvBackpropInputCase(const Conv& conv) {
  const std::string op = OpName(conv, "BackpropInput");
  Attributes attributes = AttributesOf(conv);
  attributes.Set("input_shape", conv.x);
  return {.name = op + conv.name,
          .op = op,
          .inputs = {{.type = Float32(conv.filter)}, {.type = Float32(conv.y)}},
          .attributes = attributes,
          .outputs = {Float32(conv.x)},
          .reference = InputGradient(conv, 0, 1),
          .tolerance = 3e-4,
          .flops = Flops(conv),
          .same_bits_for_any_threads = false};
}

// Whether the input gradient of this convolution takes an addend.
bool TakesAddend(const Conv& conv) {
  return conv.groups == 1 && Spatial(conv.filter).num_elements() == 1 &&
         Spatial(conv.x) == Spatial(conv.y);
}

// dx plus a tensor like dx. The kernel may write over that.
OpCase WithAddend(OpCase input_gradient) {
  const TensorType dx = input_gradient.outputs[0];
  input_gradient.name += "WithAddend";
  input_gradient.inputs.push_back({.type = dx});
  input_gradient.reference =
      [base = std::move(input_gradient.reference)](const DoublesList& in) {
        DoublesList sum = base({in[0], in[1]});
        for (size_t i = 0; i < sum[0].size(); ++i) sum[0][i] += in[2][i];
        return sum;
      };
  return input_gradient;
}

OpCase ConvBackpropFilterCase(const Conv& conv) {
  const std::string op = OpName(conv, "BackpropFilter");
  Attributes attributes = AttributesOf(conv);
  attributes.Set("filter_shape", conv.filter);
  return {.name = op + conv.name,
          .op = op,
          .inputs = {{.type = Float32(conv.x)}, {.type = Float32(conv.y)}},
          .attributes = attributes,
          .outputs = {Float32(conv.filter)},
          .reference = FilterGradient(conv),
          .tolerance = 3e-4,
          .flops = Flops(conv),
          .same_bits_for_any_threads = false};
}

OpCase ConvTransposeCase(const Conv& conv) {
  const std::string op = OpName(conv, "Transpose");
  Attributes attributes = AttributesOf(conv);
  attributes.Set("output_shape", conv.x);
  return {.name = op + conv.name,
          .op = op,
          .inputs = {{.type = Float32(conv.y)}, {.type = Float32(conv.filter)}},
          .attributes = attributes,
          .outputs = {Float32(conv.x)},
          .reference = InputGradient(conv, 1, 0),
          .tolerance = 3e-4,
          .gradients = GradientsOf(conv),
          .flops = Flops(conv),
          .same_bits_for_any_threads = false};
}

}  // namespace

std::vector<OpCase> CasesOf(const Conv& conv) {
  const OpCase forward = ConvCase(conv);
  const OpCase input_gradient = ConvBackpropInputCase(conv);
  const OpCase filter_gradient = ConvBackpropFilterCase(conv);
  std::vector<OpCase> cases = {forward,
                               input_gradient,
                               filter_gradient,
                               Narrow(forward),
                               Narrow(input_gradient),
                               Narrow(filter_gradient),
                               NarrowButOutput(filter_gradient)};
  for (OpCase& mixed : NarrowButFilter(forward, 1)) {
    cases.push_back(std::move(mixed));
  }
  std::vector<OpCase> input_gradients = {input_gradient};
  if (TakesAddend(conv)) {
    const OpCase sum = WithAddend(input_gradient);
    input_gradients.push_back(sum);
    cases.push_back(sum);
    cases.push_back(Narrow(sum));
  }
  for (const OpCase& each : input_gradients) {
    for (OpCase& mixed : NarrowButFilter(each, 0)) {
      cases.push_back(std::move(mixed));
    }
  }
  return cases;
}

std::vector<OpCase> TransposeCasesOf(const Conv& conv) {
  const OpCase transpose = ConvTransposeCase(conv);
  std::vector<OpCase> cases = {transpose, Narrow(transpose)};
  for (OpCase& mixed : NarrowButFilter(transpose, 1)) {
    cases.push_back(std::move(mixed));
  }
  return cases;
}

BadOp BadConv::operator()(const std::string& name, const Shape& x,
                          const Shape& filter, Attributes attributes,
                          const std::string& error) const {
  return {.name = op + name,
          .op = op,
          .inputs = {Float32(x), Float32(filter)},
          .attributes = std::move(attributes),
          .error = error};
}

}  // namespace spillway::testing
