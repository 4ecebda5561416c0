// One rule for the initial values of all weights of a graph, in place of those
// that its layers have chosen.
//
//   variables whose name ends in                               start as
//   weights, weight                                            the rule says
//   biases, bias, offset, beta, moving_mean, running_mean      0
//   scale, gamma, moving_variance, moving_var,
//   running_variance, running_var                              1
//
// An ending is the whole name or follows '/', '.' or '_'. Of the variables that
// are not trainable, only the moving statistics are set; the slots of an
// optimizer keep their initial values.
//
// Fans are those of the kind variance_scaling
// (executor/session/resident_values.h), which are right for our layouts:
// filters [O, spatial..., I] have I * spatial inputs and O * spatial outputs,
// matrices [in, out] have in and out. So a filter has the fans that MXNet gives
// to its [O, I, spatial...].
// Source: the initializers of MXNet 1.2, with counter-based random numbers.
#ifndef SPILLWAY_TRAINING_INITIALIZERS_H_
#define SPILLWAY_TRAINING_INITIALIZERS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace spillway {

// `s` is InitializerOptions::scale, f the fan.
enum class InitializerRule : uint8_t {
  kDefault,  // every variable keeps the initial value that it has
  kUniform,  // from -s to s; s = 0.07
  kNormal,   // standard deviation s = 0.01
  kXavier,   // from -sqrt(s / f) to sqrt(s / f), or normal with this standard
             // deviation; s = 3
  kMsra,     // normal, standard deviation sqrt(2 / (1 + s^2) / f), for leaky
             // ReLUs of the slope s = 0.25
  kOrthogonal,  // orthogonal rows or columns of the length s = 1.414
  kZero,
  kOne,
  kConstant,  // s, which must be set
};

enum class FanFactor : uint8_t { kAverage, kIn, kOut };
enum class InitializerNumbers : uint8_t { kUniform, kGaussian };

// A field that the rule does not have must not be set.
struct InitializerOptions {
  InitializerRule rule = InitializerRule::kDefault;
  std::optional<double> scale = std::nullopt;      // 0 or more, but for kMsra
                                                   // and kConstant
  std::optional<FanFactor> factor = std::nullopt;  // xavier, msra: average
  // xavier, orthogonal: uniform
  std::optional<InitializerNumbers> numbers = std::nullopt;
};

// "default", "uniform" and so on; "avg", "in", "out"; "uniform", "gaussian".
// Errors: INVALID_ARGUMENT that lists the names.
absl::StatusOr<InitializerRule> ParseInitializerRule(std::string_view name);
absl::StatusOr<FanFactor> ParseFanFactor(std::string_view name);
absl::StatusOr<InitializerNumbers> ParseInitializerNumbers(
    std::string_view name);

// Sets the attribute `initializer` of the graph's variables. Errors, which
// leave the graph as it was: INVALID_ARGUMENT for options as above; naming the
// variable, for a trainable one with another ending, weights of less than two
// dimensions with xavier, msra or orthogonal, and values that its type cannot
// hold.
absl::Status SetInitializers(const InitializerOptions& options, Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_INITIALIZERS_H_
