// Functions of one real, and their slopes: the arithmetic of ops/pointwise/
// unary.h on every device. CUDA sources include it; being templates, the
// functions may call the device's expf and its like.
//
// Values for large arguments do not overflow where the function itself is
// finite; a NaN passes through.
#ifndef SPILLWAY_OPS_COMMON_UNARY_FUNCTIONS_H_
#define SPILLWAY_OPS_COMMON_UNARY_FUNCTIONS_H_

#include <math.h>  // expf and others of the global namespace, as CUDA has them

#include <cstdint>

namespace spillway {

enum class PointwiseFunction : uint8_t {
  kAbs,
  kCeil,
  kCelu,
  kClip,
  kCos,
  kErf,
  kExp,
  kFloor,
  kGelu,
  kGeluTanh,
  kHardSigmoid,
  kHardSwish,
  kLeakyRelu,
  kLog,
  kMish,
  kPower,
  kReciprocal,
  kRound,
  kSelu,
  kShrink,
  kSign,
  kSilu,
  kSin,
  kSoftplus,
  kSoftsign,
  kSqrt,
  kThresholdedRelu,
};

// The attributes of an op, in the order in which unary.h names them.
struct UnaryParameters {
  float a = 0;
  float b = 0;
};

namespace unary {

template <typename T>
constexpr T Logistic(T x) {
  return 1 / (1 + expf(-x));
}

// log(1 + exp(x))
template <typename T>
constexpr T SoftplusOf(T x) {
  return (x > 0 ? x : 0.0F) + log1pf(expf(-fabsf(x)));
}

struct Abs {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return fabsf(x);
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    return x > 0 ? 1.0F : x < 0 ? -1.0F : 0.0F * x;
  }
};

// Functions that are constant almost everywhere have no slope.
struct Ceil {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return ceilf(x);
  }
};
struct Floor {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return floorf(x);
  }
};
// Halves go to the even neighbour.
struct Round {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return rintf(x);
  }
};
struct Sign {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return x > 0 ? 1.0F : x < 0 ? -1.0F : x;
  }
};

// max(x, 0) + min(0, a (exp(x / a) - 1))
struct Celu {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters p) {
    return x > 0 ? x : p.a * expm1f(x / p.a);
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters p) {
    return x > 0 ? 1.0F : expf(x / p.a);
  }
};

// At least a, then at most b.
struct Clip {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters p) {
    const T low = x < p.a ? p.a : x;
    return low > p.b ? p.b : low;
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters p) {
    return x < p.a || x > p.b ? 0.0F : 1.0F;
  }
};

struct Cos {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return cosf(x);
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    return -sinf(x);
  }
};
struct Sin {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return sinf(x);
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    return cosf(x);
  }
};

struct Erf {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return erff(x);
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    return 1.12837916709551257F * expf(-x * x);  // 2 / sqrt(pi)
  }
};

struct Exp {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return expf(x);
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    return expf(x);
  }
};
struct Log {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return logf(x);
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    return 1 / x;
  }
};

// x times the probability that a normal number is below x.
// Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016.
struct Gelu {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return 0.5F * x * (1 + erff(0.707106781186547524F * x));
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    const T below = 0.5F * (1 + erff(0.707106781186547524F * x));
    const T density = 0.398942280401432678F * expf(-0.5F * x * x);
    return below + x * density;
  }
};
// Their approximation by tanh.
struct GeluTanh {
  template <typename T>
  static constexpr T Inner(T x) {
    return 0.797884560802865356F * (x + 0.044715F * x * x * x);
  }
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return 0.5F * x * (1 + tanhf(Inner(x)));
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    const T t = tanhf(Inner(x));
    const T inner = 0.797884560802865356F * (1 + 0.134145F * x * x);
    return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * inner;
  }
};

// min(max(a x + b, 0), 1)
struct HardSigmoid {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters p) {
    const T line = p.a * x + p.b;
    const T low = line < 0 ? 0.0F : line;
    return low > 1 ? 1.0F : low;
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters p) {
    const T line = p.a * x + p.b;
    return line > 0 && line < 1 ? p.a : 0.0F;
  }
};

// x min(max(x / 6 + 1 / 2, 0), 1)
struct HardSwish {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return x * HardSigmoid::Value(x, {1.0F / 6, 0.5F});
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    if (x <= -3) return 0.0F * x;
    return x >= 3 ? 1.0F : x / 3 + 0.5F;
  }
};

struct LeakyRelu {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters p) {
    return x < 0 ? p.a * x : x;
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters p) {
    return x < 0 ? p.a : 1.0F;
  }
};

// x tanh(softplus(x))
struct Mish {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return x * tanhf(SoftplusOf(x));
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    const T t = tanhf(SoftplusOf(x));
    return t + x * (1 - t * t) * Logistic(x);
  }
};

// x^a
struct Power {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters p) {
    return powf(x, p.a);
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters p) {
    return p.a * powf(x, p.a - 1);
  }
};
struct Reciprocal {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return 1 / x;
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    return -1 / (x * x);
  }
};
struct Sqrt {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return sqrtf(x);
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    return 0.5F / sqrtf(x);
  }
};

// b x for x > 0, else b a (exp(x) - 1)
struct Selu {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters p) {
    return p.b * (x > 0 ? x : p.a * expm1f(x));
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters p) {
    return p.b * (x > 0 ? 1.0F : p.a * expf(x));
  }
};

// x + b below -a, x - b above a, 0 between
struct Shrink {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters p) {
    return x < -p.a ? x + p.b : x > p.a ? x - p.b : 0.0F * x;
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters p) {
    return x < -p.a || x > p.a ? 1.0F : 0.0F;
  }
};

// x / (1 + exp(-x))
struct Silu {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return x * Logistic(x);
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    const T s = Logistic(x);
    return s + x * s * (1 - s);
  }
};

struct Softplus {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return SoftplusOf(x);
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    return Logistic(x);
  }
};

// x / (1 + |x|)
struct Softsign {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters /*p*/) {
    return x / (1 + fabsf(x));
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters /*p*/) {
    const T under = 1 + fabsf(x);
    return 1 / (under * under);
  }
};

// x above a, else 0
struct ThresholdedRelu {
  template <typename T>
  static constexpr T Value(T x, UnaryParameters p) {
    return x > p.a ? x : 0.0F * x;
  }
  template <typename T>
  static constexpr T Slope(T x, UnaryParameters p) {
    return x > p.a ? 1.0F : 0.0F;
  }
};

// fn(x) of one of the functions, or of their slopes.
template <typename Function>
struct ValueOf {
  UnaryParameters parameters;
  constexpr float operator()(float x) const {
    return Function::Value(x, parameters);
  }
};
template <typename Function>
struct SlopeTimes {
  UnaryParameters parameters;
  constexpr float operator()(float dy, float x) const {
    return dy * Function::Slope(x, parameters);
  }
};

// Calls visit(Abs()), ... for the function.
template <typename Visit>
auto VisitWithSlope(PointwiseFunction function, const Visit& visit) {
  switch (function) {
    case PointwiseFunction::kAbs:
      return visit(Abs());
    case PointwiseFunction::kCelu:
      return visit(Celu());
    case PointwiseFunction::kClip:
      return visit(Clip());
    case PointwiseFunction::kCos:
      return visit(Cos());
    case PointwiseFunction::kErf:
      return visit(Erf());
    case PointwiseFunction::kGelu:
      return visit(Gelu());
    case PointwiseFunction::kGeluTanh:
      return visit(GeluTanh());
    case PointwiseFunction::kHardSigmoid:
      return visit(HardSigmoid());
    case PointwiseFunction::kHardSwish:
      return visit(HardSwish());
    case PointwiseFunction::kLeakyRelu:
      return visit(LeakyRelu());
    case PointwiseFunction::kLog:
      return visit(Log());
    case PointwiseFunction::kMish:
      return visit(Mish());
    case PointwiseFunction::kPower:
      return visit(Power());
    case PointwiseFunction::kReciprocal:
      return visit(Reciprocal());
    case PointwiseFunction::kSelu:
      return visit(Selu());
    case PointwiseFunction::kShrink:
      return visit(Shrink());
    case PointwiseFunction::kSilu:
      return visit(Silu());
    case PointwiseFunction::kSin:
      return visit(Sin());
    case PointwiseFunction::kSoftplus:
      return visit(Softplus());
    case PointwiseFunction::kSoftsign:
      return visit(Softsign());
    case PointwiseFunction::kSqrt:
      return visit(Sqrt());
    case PointwiseFunction::kThresholdedRelu:
      return visit(ThresholdedRelu());
    default:
      return visit(Exp());
  }
}

template <typename Visit>
auto VisitAny(PointwiseFunction function, const Visit& visit) {
  switch (function) {
    case PointwiseFunction::kCeil:
      return visit(Ceil());
    case PointwiseFunction::kFloor:
      return visit(Floor());
    case PointwiseFunction::kRound:
      return visit(Round());
    case PointwiseFunction::kSign:
      return visit(Sign());
    default:
      return VisitWithSlope(function, visit);
  }
}

}  // namespace unary
}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_UNARY_FUNCTIONS_H_
