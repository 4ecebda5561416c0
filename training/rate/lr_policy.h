// The learning rate of a training as plain settings, and the schedule that they
// mean.
//
// e is the number of epochs and u the number of updates that are done, b the
// rate, f the final rate, w the updates of the warm-up:
//
//   constant, fixed   b
//   step              b gamma^floor(e / step)
//   exp               b gamma^e
//   inv               b (1 + gamma e)^-power
//   sigmoid           b / (1 + exp(-gamma (e - step)))
//   multifactor       b gamma^(number of step_epochs that are <= e)
//   poly              f + (b - f) (1 - e / epochs)^power; with max_update:
//                     f + (b - f) (1 - (u - w) / (max_update - w))^power
//   linear            poly with the power 1 and max_update
//   cosine            f + (b - f) (1 + cos(pi (u - w) / (max_update - w))) / 2
//   piecewise         values[number of boundaries that are <= u]
//
// max_update is the last update of the training where linear and cosine leave
// it out. A kind ignores the fields that its row does not have; a warm-up
// applies to all of them.
// Sources: the policies of Apache SystemML (step, exp, inv, sigmoid, poly by
// epochs) and the schedulers of MXNet (multifactor, poly by updates, warm-up).
#ifndef SPILLWAY_TRAINING_RATE_LR_POLICY_H_
#define SPILLWAY_TRAINING_RATE_LR_POLICY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "training/rate/lr_schedule.h"

namespace spillway {

enum class LrPolicyKind : uint8_t {
  kConstant,
  kLinear,
  kCosine,
  kFixed,
  kStep,
  kMultiFactor,
  kExp,
  kInv,
  kPoly,
  kSigmoid,
  kPiecewise,
};

// "constant", "multifactor" and so on. Errors of the parsers: INVALID_ARGUMENT
// that lists the names.
std::string_view LrPolicyKindName(LrPolicyKind kind);
absl::StatusOr<LrPolicyKind> ParseLrPolicyKind(std::string_view name);
// linear, constant.
absl::StatusOr<WarmUpMode> ParseWarmUpMode(std::string_view name);

struct LrPolicy {
  LrPolicyKind kind = LrPolicyKind::kConstant;
  double rate = 0.01;
  double gamma = 0.95;
  int64_t step = 100'000;  // epochs
  // nullopt: 0.75; for poly with max_update, 2.
  std::optional<double> power = std::nullopt;
  std::optional<int64_t> max_update = std::nullopt;
  double final_rate = 0;
  std::vector<int64_t> step_epochs = {};
  std::vector<int64_t> boundaries = {};  // updates
  std::vector<double> values = {};       // one more than boundaries
  // Ends before max_update. Climbs to `rate`, or to the first of `values`.
  WarmUp warmup = {};
};

// What a policy needs to know of the training that it is for.
struct LrContext {
  int64_t updates = 0;
  int64_t epochs = 0;
  // Update -> number of epochs done before it. Only step, exp, inv, sigmoid,
  // multifactor and poly without max_update need it.
  std::function<int64_t(int64_t update)> epoch_of = {};
};

// Errors: INVALID_ARGUMENT naming the policy, the field, its value and what is
// legal. Rates are never negative and are finite.
absl::StatusOr<LrSchedule> MakeLrSchedule(const LrPolicy& policy,
                                          const LrContext& context);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_RATE_LR_POLICY_H_
