#include "executor/session/initializer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "base/status_macros.h"

namespace spillway {
namespace {

using Kind = InitialDistribution::Kind;

// Standard deviation of a standard normal distribution truncated at two.
constexpr double kTruncatedStddev = 0.87962566103423978;

struct Fans {
  double in = 1;
  double out = 1;
};

Fans FansOf(const Shape& shape) {
  const auto elements = static_cast<double>(shape.num_elements());
  if (shape.rank() < 2) return {.in = elements, .out = elements};
  const auto first = static_cast<double>(shape.dim(0));
  const auto last = static_cast<double>(shape.dim(-1));
  if (shape.rank() == 2) return {.in = first, .out = last};
  return {.in = elements / first, .out = elements / last};
}

absl::StatusOr<double> FanOf(std::string_view mode, const Shape& shape) {
  const Fans fans = FansOf(shape);
  if (mode == "fan_in") return fans.in;
  if (mode == "fan_out") return fans.out;
  if (mode == "fan_avg") return (fans.in + fans.out) / 2;
  return InvalidArgument(
      fmt::format("mode '{}' is none of fan_in, fan_out, fan_avg", mode));
}

absl::StatusOr<double> GetNonNegative(const Attributes& fields,
                                      std::string_view name,
                                      double fallback = 1) {
  SPILLWAY_ASSIGN_OR_RETURN(const double value, fields.GetReal(name, fallback));
  if (value >= 0) return value;
  return InvalidArgument(fmt::format(
      "attribute '{}' is {}; it must not be negative", name, value));
}

absl::StatusOr<InitialDistribution> ReadVarianceScaling(
    const Attributes& fields, const Shape& shape) {
  SPILLWAY_ASSIGN_OR_RETURN(const double scale,
                            GetNonNegative(fields, "scale"));
  SPILLWAY_ASSIGN_OR_RETURN(const std::string mode,
                            fields.GetString("mode", "fan_in"));
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::string distribution,
      fields.GetString("distribution", "truncated_normal"));
  SPILLWAY_ASSIGN_OR_RETURN(const double fan, FanOf(mode, shape));
  const double stddev = std::sqrt(scale / fan);
  if (distribution == "truncated_normal") {
    return InitialDistribution{.kind = Kind::kTruncatedNormal,
                               .spread = stddev / kTruncatedStddev};
  }
  if (distribution == "normal") {
    return InitialDistribution{.kind = Kind::kNormal, .spread = stddev};
  }
  if (distribution == "uniform") {
    const double limit = std::sqrt(3.0) * stddev;
    return InitialDistribution{
        .kind = Kind::kUniform, .center = -limit, .spread = 2 * limit};
  }
  return InvalidArgument(
      fmt::format("distribution '{}' is none of truncated_normal, normal, "
                  "uniform",
                  distribution));
}

absl::StatusOr<InitialDistribution> ReadOrthogonal(const Attributes& fields,
                                                   const Shape& shape) {
  SPILLWAY_ASSIGN_OR_RETURN(const double scale,
                            GetNonNegative(fields, "scale", 1.414));
  SPILLWAY_ASSIGN_OR_RETURN(const std::string distribution,
                            fields.GetString("distribution", "uniform"));
  if (distribution != "uniform" && distribution != "normal") {
    return InvalidArgument(fmt::format(
        "distribution '{}' is none of uniform, normal", distribution));
  }
  if (shape.rank() < 2) {
    return InvalidArgument(fmt::format(
        "orthogonal needs 2 dimensions or more, not {}", shape.rank()));
  }
  return InitialDistribution{.kind = Kind::kOrthogonal,
                             .spread = scale,
                             .from_normal = distribution == "normal"};
}

absl::StatusOr<InitialDistribution> ReadUniform(const Attributes& fields) {
  SPILLWAY_ASSIGN_OR_RETURN(const double scale,
                            GetNonNegative(fields, "scale"));
  SPILLWAY_ASSIGN_OR_RETURN(const double low, fields.GetReal("min", -scale));
  SPILLWAY_ASSIGN_OR_RETURN(const double high, fields.GetReal("max", scale));
  if (low > high) {
    return InvalidArgument(
        fmt::format("uniform from {} to {} is empty", low, high));
  }
  return InitialDistribution{
      .kind = Kind::kUniform, .center = low, .spread = high - low};
}

absl::StatusOr<InitialDistribution> ReadNormal(Kind kind,
                                               const Attributes& fields) {
  SPILLWAY_ASSIGN_OR_RETURN(const double mean, fields.GetReal("mean", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const double stddev,
                            GetNonNegative(fields, "stddev"));
  return InitialDistribution{.kind = kind, .center = mean, .spread = stddev};
}

absl::StatusOr<InitialDistribution> ReadKind(const Attributes& fields,
                                             const Shape& shape) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string kind, fields.GetString("kind"));
  if (kind == "zeros") return InitialDistribution{};
  if (kind == "ones") return InitialDistribution{.center = 1};
  if (kind == "constant") {
    SPILLWAY_ASSIGN_OR_RETURN(const double value, fields.GetReal("value"));
    return InitialDistribution{.center = value};
  }
  if (kind == "normal") return ReadNormal(Kind::kNormal, fields);
  if (kind == "truncated_normal") {
    return ReadNormal(Kind::kTruncatedNormal, fields);
  }
  if (kind == "uniform") return ReadUniform(fields);
  if (kind == "variance_scaling") return ReadVarianceScaling(fields, shape);
  if (kind == "orthogonal") return ReadOrthogonal(fields, shape);
  return InvalidArgument(
      fmt::format("kind '{}' is none of zeros, ones, constant, normal, "
                  "truncated_normal, uniform, variance_scaling, orthogonal",
                  kind));
}

absl::Status CheckFieldNames(const Attributes& fields) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"distribution", "kind", "max", "mean", "min", "mode", "scale", "stddev",
       "value"});
  for (const auto& [name, value] : fields.items()) {
    if (std::ranges::find(kNames, name) == kNames.end()) {
      return InvalidArgument(fmt::format("has no field '{}'; fields are {}",
                                         name, fmt::join(kNames, ", ")));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<InitialDistribution> ReadFields(const Attributes& fields,
                                               const TensorType& type) {
  SPILLWAY_RETURN_IF_ERROR(CheckFieldNames(fields));
  SPILLWAY_ASSIGN_OR_RETURN(const InitialDistribution initializer,
                            ReadKind(fields, type.shape));
  const bool is_floating = type.dtype == DType::kFloat32 ||
                           type.dtype == DType::kBFloat16 ||
                           type.dtype == DType::kFloat16;
  if (initializer.kind != Kind::kConstant && !is_floating) {
    return InvalidArgument(fmt::format(
        "random kinds are for floating types, not {}", type.ToString()));
  }
  return initializer;
}

}  // namespace

absl::StatusOr<InitialDistribution> ReadInitializer(
    const Attributes& attributes, const TensorType& type) {
  if (!attributes.contains("initializer")) return InitialDistribution{};
  SPILLWAY_ASSIGN_OR_RETURN(const Attributes fields,
                            attributes.GetObject("initializer"));
  absl::StatusOr<InitialDistribution> initializer = ReadFields(fields, type);
  if (!initializer.ok()) {
    return Annotate(initializer.status(), "attribute 'initializer'");
  }
  return initializer;
}

}  // namespace spillway
