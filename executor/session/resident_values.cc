#include "executor/session/resident_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "executor/host_threads.h"
#include "executor/session/initializer.h"
#include "executor/session/orthogonal.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// Elements that are worth a separate thread.
constexpr int64_t kGrain = int64_t{1} << 18;

template <typename T>
T FromDouble(double value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return ToBFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, Float16>) {
    return ToFloat16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// Where the elements go, and which threads may help.
struct Target {
  const TensorType& type;
  void* out = nullptr;
  HostThreads* threads = nullptr;
};

// out[i] = value_at(i), in the type's own dtype.
template <typename T, typename Fn>
void FillAs(const Target& target, const Fn& value_at) {
  T* data = static_cast<T*>(target.out);
  RunInParts(target.threads, target.type.num_elements(),
             {.least_items = kGrain}, [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 data[i] = FromDouble<T>(value_at(static_cast<uint64_t>(i)));
               }
             });
}

template <typename Fn>
absl::Status Fill(const Target& target, const Fn& value_at) {
  switch (target.type.dtype) {
    case DType::kFloat32:
      FillAs<float>(target, value_at);
      return absl::OkStatus();
    case DType::kBFloat16:
      FillAs<BFloat16>(target, value_at);
      return absl::OkStatus();
    case DType::kFloat16:
      FillAs<Float16>(target, value_at);
      return absl::OkStatus();
    case DType::kInt32:
      FillAs<int32_t>(target, value_at);
      return absl::OkStatus();
    case DType::kInt64:
      FillAs<int64_t>(target, value_at);
      return absl::OkStatus();
    case DType::kUInt8:
      FillAs<uint8_t>(target, value_at);
      return absl::OkStatus();
    case DType::kBool:
      FillAs<bool>(target, value_at);
      return absl::OkStatus();
  }
  return Internal("unknown dtype");
}

struct Range {
  double least = 0;
  double most = 0;
};

template <typename T>
Range RangeOf() {
  return {.least = static_cast<double>(std::numeric_limits<T>::lowest()),
          .most = static_cast<double>(std::numeric_limits<T>::max())};
}

Range RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kInt32:
      return RangeOf<int32_t>();
    case DType::kInt64:  // that a double holds exactly
      return {.least = -0x1.0p53, .most = 0x1.0p53};
    case DType::kUInt8:
      return RangeOf<uint8_t>();
    case DType::kBool:
      return {.least = 0, .most = 1};
    case DType::kFloat16:
      return {.least = -65504, .most = 65504};
    case DType::kBFloat16:
      return {.least = -0x1.FEp127, .most = 0x1.FEp127};
    case DType::kFloat32:
      break;
  }
  return RangeOf<float>();
}

absl::Status CheckFits(double value, DType dtype) {
  const Range range = RangeOf(dtype);
  const bool is_real = dtype == DType::kFloat32 || dtype == DType::kBFloat16 ||
                       dtype == DType::kFloat16;
  if (value >= range.least && value <= range.most &&
      (is_real || value == std::trunc(value))) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      fmt::format("{} is not a {}", value, DTypeName(dtype)));
}

// The single element of `value`, or every element of `values`.
absl::StatusOr<std::vector<double>> ReadConstant(const Attributes& attributes,
                                                 const TensorType& type) {
  if (attributes.contains("value") == attributes.contains("values")) {
    return InvalidArgument("needs either attribute 'value' or 'values'");
  }
  std::vector<double> values;
  if (const AttributeValue* value = attributes.Find("value")) {
    if (const bool* flag = std::get_if<bool>(&value->variant())) {
      return std::vector{*flag ? 1.0 : 0.0};
    }
    SPILLWAY_ASSIGN_OR_RETURN(const double number, attributes.GetReal("value"));
    values.push_back(number);
  } else {
    SPILLWAY_ASSIGN_OR_RETURN(values, attributes.GetReals("values"));
    if (static_cast<int64_t>(values.size()) != type.num_elements()) {
      return InvalidArgument(
          fmt::format("attribute 'values' has {} items; {} "
                      "needs {}",
                      values.size(), type.ToString(), type.num_elements()));
    }
  }
  for (const double item : values)
    SPILLWAY_RETURN_IF_ERROR(CheckFits(item, type.dtype));
  return values;
}

// A matrix of the first dimension by the others: orthonormal rows times the
// scale or, if there are more rows than columns, such columns. This is one
// definition for filters, whose first dimension is the output, and matrices
// [in, out]: transposing changes neither.
absl::Status DrawOrthogonal(const InitialDistribution& initializer,
                            uint64_t key, const Target& target) {
  const int64_t elements = target.type.num_elements();
  if (elements == 0) return absl::OkStatus();
  const int64_t rows = target.type.shape.dim(0);
  const int64_t columns = elements / rows;
  const std::vector<double> basis =
      OrthonormalRows({.count = std::min(rows, columns),
                       .length = std::max(rows, columns),
                       .key = key,
                       .from_normal = initializer.from_normal},
                      target.threads);
  return Fill(target, [&](uint64_t i) {
    const auto row = static_cast<int64_t>(i) / columns;
    const auto column = static_cast<int64_t>(i) % columns;
    const int64_t at =
        rows <= columns ? row * columns + column : column * rows + row;
    return initializer.spread * basis[static_cast<size_t>(at)];
  });
}

absl::Status Draw(const InitialDistribution& initializer, uint64_t key,
                  const Target& target) {
  const double center = initializer.center;
  const double spread = initializer.spread;
  switch (initializer.kind) {
    case InitialDistribution::Kind::kConstant:
      return Fill(target, [=](uint64_t) { return center; });
    case InitialDistribution::Kind::kNormal:
      return Fill(target, [=](uint64_t i) {
        return center + spread * NormalAt(key, i);
      });
    case InitialDistribution::Kind::kTruncatedNormal:
      return Fill(target, [=](uint64_t i) {
        return center + spread * TruncatedNormalAt(key, i);
      });
    case InitialDistribution::Kind::kUniform:
      return Fill(target, [=](uint64_t i) {
        return center + spread * UniformFloat(Philox4x32(key, i / 4)[i % 4]);
      });
    case InitialDistribution::Kind::kOrthogonal:
      return DrawOrthogonal(initializer, key, target);
  }
  return Internal("unknown kind of initializer");
}

}  // namespace

absl::Status CheckInitializer(const Attributes& attributes,
                              const TensorType& type) {
  SPILLWAY_ASSIGN_OR_RETURN(const InitialDistribution initializer,
                            ReadInitializer(attributes, type));
  if (initializer.kind != InitialDistribution::Kind::kConstant)
    return absl::OkStatus();
  return Annotate(CheckFits(initializer.center, type.dtype),
                  "attribute 'initializer'");
}

absl::Status FillInitial(const Attributes& attributes, const TensorType& type,
                         uint64_t seed, std::string_view name, void* out,
                         HostThreads* threads) {
  SPILLWAY_RETURN_IF_ERROR(CheckInitializer(attributes, type));
  SPILLWAY_ASSIGN_OR_RETURN(const InitialDistribution initializer,
                            ReadInitializer(attributes, type));
  return Draw(initializer, MixKeys(seed, HashName(name)),
              {.type = type, .out = out, .threads = threads});
}

absl::Status CheckConstant(const Attributes& attributes,
                           const TensorType& type) {
  return ReadConstant(attributes, type).status();
}

absl::Status FillConstant(const Attributes& attributes, const TensorType& type,
                          void* out, HostThreads* threads) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<double> values,
                            ReadConstant(attributes, type));
  const bool fills = attributes.contains("value");
  return Fill(Target{.type = type, .out = out, .threads = threads},
              [&](uint64_t i) { return values[fills ? 0 : i]; });
}

absl::Status FillResident(const Graph& graph, NodeId id, uint64_t seed,
                          void* out, HostThreads* threads) {
  const Node& node = graph.node(id);
  const TensorType& type = graph.type(node.outputs[0]);
  if (node.op == kVariable) {
    return Annotate(
        FillInitial(node.attributes, type, seed, node.name, out, threads),
        node.name);
  }
  if (node.op == kConst) {
    return Annotate(FillConstant(node.attributes, type, out, threads),
                    node.name);
  }
  return InvalidArgument(
      fmt::format("{}: op {} has no first value", node.name, node.op));
}

}  // namespace spillway
