// Element-wise functions of one, two or three constants.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/fold/fold.h"

namespace spillway::onnx_model {
namespace {

using RealFunction = double (*)(double);
using RealPair = double (*)(double, double);
// Nullopt: there is no result (division by zero).
using IntegerPair = std::optional<int64_t> (*)(int64_t, int64_t);

// Two's complement: sums of a damaged file may overflow.
int64_t Wrap(uint64_t x) { return static_cast<int64_t>(x); }
std::optional<int64_t> AddIntegers(int64_t a, int64_t b) {
  return Wrap(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
std::optional<int64_t> SubIntegers(int64_t a, int64_t b) {
  return Wrap(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
std::optional<int64_t> MulIntegers(int64_t a, int64_t b) {
  return Wrap(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
std::optional<int64_t> DivIntegers(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  return b == -1 ? SubIntegers(0, a) : a / b;
}
// The sign of the divisor, as Python's %.
std::optional<int64_t> ModIntegers(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
std::optional<int64_t> PowIntegers(int64_t a, int64_t b) {
  if (b < 0) return std::nullopt;
  uint64_t result = 1;
  auto base = static_cast<uint64_t>(a);
  for (auto rest = static_cast<uint64_t>(b); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result *= base;
    base *= base;
  }
  return Wrap(result);
}
std::optional<int64_t> MinIntegers(int64_t a, int64_t b) {
  return std::min(a, b);
}
std::optional<int64_t> MaxIntegers(int64_t a, int64_t b) {
  return std::max(a, b);
}

struct Binary {
  RealPair reals = nullptr;
  IntegerPair integers = nullptr;
};

const Binary* FindBinary(std::string_view op) {
  static const std::map<std::string_view, Binary> kOps = {
      {"Add", {[](double a, double b) { return a + b; }, AddIntegers}},
      {"Sub", {[](double a, double b) { return a - b; }, SubIntegers}},
      {"Mul", {[](double a, double b) { return a * b; }, MulIntegers}},
      {"Div", {[](double a, double b) { return a / b; }, DivIntegers}},
      {"Mod",
       {[](double a, double b) { return std::fmod(a, b); }, ModIntegers}},
      {"Pow", {[](double a, double b) { return std::pow(a, b); }, PowIntegers}},
      {"Min", {[](double a, double b) { return std::min(a, b); }, MinIntegers}},
      {"Max", {[](double a, double b) { return std::max(a, b); }, MaxIntegers}},
      {"Sum", {[](double a, double b) { return a + b; }, AddIntegers}},
  };
  const auto found = kOps.find(op);
  return found == kOps.end() ? nullptr : &found->second;
}

struct Operands {
  std::vector<int64_t> dims = {};
  Constant a = {};
  Constant b = {};
};

absl::StatusOr<Operands> Broadcast(const Constant& a, const Constant& b) {
  Operands operands;
  SPILLWAY_ASSIGN_OR_RETURN(operands.dims, CommonDims(a.dims, b.dims));
  SPILLWAY_RETURN_IF_ERROR(CountFolded(operands.dims).status());
  operands.a = BroadcastTo(a, operands.dims);
  operands.b = BroadcastTo(b, operands.dims);
  return operands;
}

absl::StatusOr<Constant> Combine(const Binary& op, const Constant& left,
                                 const Constant& right) {
  SPILLWAY_ASSIGN_OR_RETURN(const Operands x, Broadcast(left, right));
  if (x.a.is_real()) {
    Reals result(x.a.size());
    for (size_t i = 0; i < result.size(); ++i) {
      result[i] = op.reals(x.a.real(i), x.b.real(i));
    }
    return MakeConstant(left.type, x.dims, std::move(result));
  }
  Integers result(x.a.size());
  for (size_t i = 0; i < result.size(); ++i) {
    // Pow may have an exponent of reals.
    const std::optional<int64_t> value =
        op.integers(x.a.integer(i), x.b.integer(i));
    if (!value.has_value()) return InvalidArgument("divides by zero");
    result[i] = *value;
  }
  return MakeConstant(left.type, x.dims, std::move(result));
}

absl::StatusOr<Constants> FoldBinary(const FoldContext& context) {
  const Binary& op = *FindBinary(context.node.op());
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* first, context.Input(0));
  Constant result = *first;
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(const Constant* next, context.Input(i));
    SPILLWAY_ASSIGN_OR_RETURN(result, Combine(op, result, *next));
  }
  return Constants{std::move(result)};
}

using Comparison = bool (*)(double, double);

Comparison FindComparison(std::string_view op) {
  static const std::map<std::string_view, Comparison> kOps = {
      {"Equal", [](double a, double b) { return a == b; }},
      {"Less", [](double a, double b) { return a < b; }},
      {"Greater", [](double a, double b) { return a > b; }},
      {"LessOrEqual", [](double a, double b) { return a <= b; }},
      {"GreaterOrEqual", [](double a, double b) { return a >= b; }},
      {"And", [](double a, double b) { return a != 0 && b != 0; }},
      {"Or", [](double a, double b) { return a != 0 || b != 0; }},
      {"Xor", [](double a, double b) { return (a != 0) != (b != 0); }},
  };
  const auto found = kOps.find(op);
  return found == kOps.end() ? nullptr : found->second;
}

absl::StatusOr<Constants> FoldComparison(const FoldContext& context) {
  const Comparison compare = FindComparison(context.node.op());
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* a, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* b, context.Input(1));
  SPILLWAY_ASSIGN_OR_RETURN(const Operands x, Broadcast(*a, *b));
  Integers result(x.a.size());
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = compare(x.a.real(i), x.b.real(i)) ? 1 : 0;
  }
  return Constants{MakeConstant(ElementType::kBool, x.dims, std::move(result))};
}

RealFunction FindUnary(std::string_view op) {
  static const std::map<std::string_view, RealFunction> kOps = {
      {"Abs", [](double x) { return std::abs(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Log", [](double x) { return std::log(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Not", [](double x) { return x == 0 ? 1.0 : 0.0; }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Relu", [](double x) { return std::max(x, 0.0); }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Sign", [](double x) { return x > 0   ? 1.0
                                     : x < 0 ? -1.0
                                             : 0.0; }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
  };
  const auto found = kOps.find(op);
  return found == kOps.end() ? nullptr : found->second;
}

absl::StatusOr<Constants> FoldUnary(const FoldContext& context) {
  const RealFunction function = FindUnary(context.node.op());
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  Reals result(x->size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = function(x->real(i));
  if (x->is_real()) {
    return Constants{MakeConstant(x->type, x->dims, std::move(result))};
  }
  // Exact below 2^53, as the integers of shapes are.
  const Constant wide = {.type = ElementType::kDouble, .elements = result};
  Integers integers(x->size());
  for (size_t i = 0; i < integers.size(); ++i) integers[i] = wide.integer(i);
  return Constants{MakeConstant(x->type, x->dims, std::move(integers))};
}

absl::StatusOr<Constants> FoldWhere(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* condition, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* a, context.Input(1));
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* b, context.Input(2));
  if (a->is_real() != b->is_real()) {
    return InvalidArgument("has inputs of two types");
  }
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<int64_t> dims,
                            CommonDims(a->dims, b->dims));
  SPILLWAY_ASSIGN_OR_RETURN(dims, CommonDims(dims, condition->dims));
  SPILLWAY_RETURN_IF_ERROR(CountFolded(dims).status());
  const Constant choice = BroadcastTo(*condition, dims);
  Constant result = BroadcastTo(*a, dims);
  const Constant other = BroadcastTo(*b, dims);
  for (size_t i = 0; i < result.size(); ++i) {
    if (choice.integer(i) != 0) continue;
    if (result.is_real()) {
      std::get<Reals>(result.elements)[i] = other.real(i);
    } else {
      std::get<Integers>(result.elements)[i] = other.integer(i);
    }
  }
  return Constants{std::move(result)};
}

absl::StatusOr<Constants> FoldCast(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t to, context.node.Int("to", 0));
  const auto type = static_cast<ElementType>(to);
  if (SizeOf(type) == 0) {
    return ResourceExhausted(fmt::format("to {}", ElementTypeName(type)));
  }
  return Constants{CastTo(*x, type)};
}

}  // namespace

Constant CastTo(const Constant& x, ElementType type) {
  if (IsFloating(type)) {
    Reals reals(x.size());
    for (size_t i = 0; i < reals.size(); ++i) reals[i] = x.real(i);
    return MakeConstant(type, x.dims, std::move(reals));
  }
  Integers integers(x.size());
  for (size_t i = 0; i < integers.size(); ++i) {
    integers[i] =
        type == ElementType::kBool ? (x.real(i) != 0 ? 1 : 0) : x.integer(i);
  }
  return MakeConstant(type, x.dims, std::move(integers));
}

Folder FindArithmetic(std::string_view op) {
  if (op == "Where") return FoldWhere;
  if (op == "Cast") return FoldCast;
  if (FindBinary(op) != nullptr) return FoldBinary;
  if (FindComparison(op) != nullptr) return FoldComparison;
  if (FindUnary(op) != nullptr) return FoldUnary;
  return nullptr;
}

}  // namespace spillway::onnx_model
