#include "training/initializers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/session/resident_values.h"
#include "graph/well_known_ops.h"
#include "training/check_setting.h"

namespace spillway {
namespace {

using Object = AttributeValue::Object;

// In the order of InitializerRule.
constexpr auto kRuleNames = std::to_array<std::string_view>(
    {"default", "uniform", "normal", "xavier", "msra", "orthogonal", "zero",
     "one", "constant"});

std::string_view RuleName(InitializerRule rule) {
  return kRuleNames[static_cast<size_t>(rule)];
}

enum class Role : uint8_t {
  kWeights,
  kBias,
  kGamma,
  kBeta,
  kMovingMean,
  kMovingVariance,
};

struct Ending {
  std::string_view text;
  Role role = Role::kWeights;
};

constexpr auto kEndings =
    std::to_array<Ending>({{"weights", Role::kWeights},
                           {"weight", Role::kWeights},
                           {"biases", Role::kBias},
                           {"bias", Role::kBias},
                           {"scale", Role::kGamma},
                           {"gamma", Role::kGamma},
                           {"offset", Role::kBeta},
                           {"beta", Role::kBeta},
                           {"moving_mean", Role::kMovingMean},
                           {"running_mean", Role::kMovingMean},
                           {"moving_variance", Role::kMovingVariance},
                           {"moving_var", Role::kMovingVariance},
                           {"running_variance", Role::kMovingVariance},
                           {"running_var", Role::kMovingVariance}});

bool HasEnding(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending)) return false;
  name.remove_suffix(ending.size());
  return name.empty() || name.ends_with('/') || name.ends_with('.') ||
         name.ends_with('_');
}

std::optional<Role> RoleOf(std::string_view name) {
  for (const Ending& ending : kEndings) {
    if (HasEnding(name, ending.text)) return ending.role;
  }
  return std::nullopt;
}

absl::Status UnknownEnding(std::string_view name) {
  std::vector<std::string_view> endings;
  for (const Ending& ending : kEndings) endings.push_back(ending.text);
  return InvalidArgument(fmt::format(
      "{}: a trainable variable that an initializer is chosen for must have a "
      "name that ends in one of {}",
      name, fmt::join(endings, " ")));
}

bool HasScale(InitializerRule rule) {
  return rule != InitializerRule::kDefault && rule != InitializerRule::kZero &&
         rule != InitializerRule::kOne;
}

bool HasFactor(InitializerRule rule) {
  return rule == InitializerRule::kXavier || rule == InitializerRule::kMsra;
}

bool HasNumbers(InitializerRule rule) {
  return rule == InitializerRule::kXavier ||
         rule == InitializerRule::kOrthogonal;
}

bool NeedsMatrix(InitializerRule rule) {
  return HasFactor(rule) || rule == InitializerRule::kOrthogonal;
}

absl::Status CheckScale(const InitializerOptions& options) {
  if (!options.scale) {
    if (options.rule != InitializerRule::kConstant) return absl::OkStatus();
    return InvalidArgument("scale, the value, is missing");
  }
  if (options.rule == InitializerRule::kConstant ||
      options.rule == InitializerRule::kMsra) {
    return setting::CheckFinite("scale", *options.scale);
  }
  return setting::CheckNotNegative("scale", *options.scale);
}

absl::Status CheckOptions(const InitializerOptions& options) {
  const auto check = [](bool is_set, bool has_field, std::string_view field) {
    if (!is_set || has_field) return absl::OkStatus();
    return InvalidArgument(fmt::format(
        "{} is set; it must not be, since it would have no effect", field));
  };
  const InitializerRule rule = options.rule;
  SPILLWAY_RETURN_IF_ERROR(
      check(options.scale.has_value(), HasScale(rule), "scale"));
  SPILLWAY_RETURN_IF_ERROR(
      check(options.factor.has_value(), HasFactor(rule), "factor"));
  SPILLWAY_RETURN_IF_ERROR(
      check(options.numbers.has_value(), HasNumbers(rule), "rnd"));
  return CheckScale(options);
}

std::string_view ModeOf(const InitializerOptions& options) {
  switch (options.factor.value_or(FanFactor::kAverage)) {
    case FanFactor::kIn:
      return "fan_in";
    case FanFactor::kOut:
      return "fan_out";
    case FanFactor::kAverage:
      break;
  }
  return "fan_avg";
}

// The attribute for weights of the variance `variance` / fan.
AttributeValue VarianceScaling(const InitializerOptions& options,
                               double variance, bool is_uniform) {
  return Object{{"kind", "variance_scaling"},
                {"scale", variance},
                {"mode", std::string(ModeOf(options))},
                {"distribution", is_uniform ? "uniform" : "normal"}};
}

AttributeValue WeightsOf(const InitializerOptions& options) {
  const bool is_uniform =
      options.numbers.value_or(InitializerNumbers::kUniform) ==
      InitializerNumbers::kUniform;
  switch (options.rule) {
    case InitializerRule::kUniform:
      return Object{{"kind", "uniform"},
                    {"scale", options.scale.value_or(0.07)}};
    case InitializerRule::kNormal:
      return Object{{"kind", "normal"},
                    {"stddev", options.scale.value_or(0.01)}};
    case InitializerRule::kXavier: {
      // Uniform numbers up to a have the variance a^2 / 3.
      const double magnitude = options.scale.value_or(3);
      return VarianceScaling(options, is_uniform ? magnitude / 3 : magnitude,
                             is_uniform);
    }
    case InitializerRule::kMsra: {
      const double slope = options.scale.value_or(0.25);
      return VarianceScaling(options, 2 / (1 + slope * slope), false);
    }
    case InitializerRule::kOrthogonal:
      return Object{{"kind", "orthogonal"},
                    {"scale", options.scale.value_or(1.414)},
                    {"distribution", is_uniform ? "uniform" : "normal"}};
    case InitializerRule::kOne:
      return Object{{"kind", "ones"}};
    case InitializerRule::kConstant:
      return Object{{"kind", "constant"}, {"value", options.scale.value_or(0)}};
    case InitializerRule::kDefault:
    case InitializerRule::kZero:
      break;
  }
  return Object{{"kind", "zeros"}};
}

AttributeValue AttributeOf(const InitializerOptions& options, Role role) {
  switch (role) {
    case Role::kWeights:
      return WeightsOf(options);
    case Role::kGamma:
    case Role::kMovingVariance:
      return Object{{"kind", "ones"}};
    case Role::kBias:
    case Role::kBeta:
    case Role::kMovingMean:
      break;
  }
  return Object{{"kind", "zeros"}};
}

// The role of a variable whose initial value is to be set.
absl::StatusOr<std::optional<Role>> RoleToSet(const Node& node) {
  const std::optional<Role> role = RoleOf(node.name);
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_trainable,
                            node.attributes.GetBool("trainable", true));
  if (is_trainable) {
    if (!role) return UnknownEnding(node.name);
    return role;
  }
  const bool is_statistic =
      role == Role::kMovingMean || role == Role::kMovingVariance;
  return is_statistic ? role : std::nullopt;
}

absl::StatusOr<AttributeValue> InitializerOf(const InitializerOptions& options,
                                             Role role, const Node& node,
                                             const TensorType& type) {
  if (role == Role::kWeights && NeedsMatrix(options.rule) &&
      type.shape.rank() < 2) {
    return InvalidArgument(
        fmt::format("{}: {} needs 2 dimensions or more, not {}", node.name,
                    RuleName(options.rule), type.shape.rank()));
  }
  AttributeValue value = AttributeOf(options, role);
  Attributes attributes;
  attributes.Set("initializer", value);
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(CheckInitializer(attributes, type), node.name));
  return value;
}

}  // namespace

absl::StatusOr<InitializerRule> ParseInitializerRule(std::string_view name) {
  const auto* const found = std::ranges::find(kRuleNames, name);
  if (found != kRuleNames.end()) {
    return static_cast<InitializerRule>(found - kRuleNames.begin());
  }
  return InvalidArgument(fmt::format("there is no initializer '{}'; known: {}",
                                     name, fmt::join(kRuleNames, " ")));
}

absl::StatusOr<FanFactor> ParseFanFactor(std::string_view name) {
  if (name == "avg") return FanFactor::kAverage;
  if (name == "in") return FanFactor::kIn;
  if (name == "out") return FanFactor::kOut;
  return InvalidArgument(fmt::format(
      "there is no initializer factor '{}'; known: avg in out", name));
}

absl::StatusOr<InitializerNumbers> ParseInitializerNumbers(
    std::string_view name) {
  if (name == "uniform") return InitializerNumbers::kUniform;
  if (name == "gaussian") return InitializerNumbers::kGaussian;
  return InvalidArgument(fmt::format(
      "there are no initializer numbers '{}'; known: uniform gaussian", name));
}

absl::Status SetInitializers(const InitializerOptions& options, Graph& graph) {
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(CheckOptions(options),
               fmt::format("initializer {}", RuleName(options.rule))));
  if (options.rule == InitializerRule::kDefault) return absl::OkStatus();
  std::vector<std::pair<NodeId, AttributeValue>> changes;
  for (const Node& node : graph.nodes()) {
    if (node.op != kVariable) continue;
    SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Role> role, RoleToSet(node));
    if (!role) continue;
    SPILLWAY_ASSIGN_OR_RETURN(
        AttributeValue value,
        InitializerOf(options, *role, node, graph.type(node.outputs[0])));
    changes.emplace_back(node.id, std::move(value));
  }
  for (auto& [id, value] : changes) {
    graph.SetAttribute(id, "initializer", std::move(value));
  }
  return absl::OkStatus();
}

}  // namespace spillway
