// What MinimizeOptions say about one variable: its learning rate and its decay.
#ifndef SPILLWAY_TRAINING_VARIABLE_SETTINGS_H_
#define SPILLWAY_TRAINING_VARIABLE_SETTINGS_H_

#include <span>
#include <string>

#include "graph/builder/builder.h"
#include "training/optimizer.h"

namespace spillway {

struct VariableSettings {
  double rate_multiplier = 1;
  bool decays = false;          // by the rule, whatever the multiplier
  double decay_multiplier = 0;  // of any weight decay; 0 unless it decays

  bool is_frozen() const { return rate_multiplier == 0; }
};

// INVALID_ARGUMENT for a multiplier that is negative or not finite, and for
// names that fit none of `variables`; says which.
absl::Status CheckVariableSettings(const MinimizeOptions& options,
                                   std::span<const std::string> variables);

VariableSettings SettingsOf(const MinimizeOptions& options,
                            const std::string& variable, const Shape& shape);

// INVALID_ARGUMENT: "a <what> must be 0 or more and finite, not -1". For
// learning rates and decays: with a negative one, the loss would increase.
absl::Status CheckNotNegative(double value, const std::string& what);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_VARIABLE_SETTINGS_H_
