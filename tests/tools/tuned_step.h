// The step for the tests of `tune`, --plan and --lms auto: small, but with more
// tensors than fit the budgets of those tests.
#ifndef SPILLWAY_TESTS_TOOLS_TUNED_STEP_H_
#define SPILLWAY_TESTS_TOOLS_TUNED_STEP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/tools/run_program.h"

namespace spillway::testing {

// A command line for resnet20's training step.
inline std::vector<std::string> ResNet(const std::string& command,
                                       const FlagValues& flags = {}) {
  FlagValues all = flags;
  all.insert({{"--model", "resnet20"},
              {"--batch_size", "16"},
              {"--learning_rate", "1e-6"},
              {"--threads", "1"},
              {"--device", "cpu"}});
  return ToArguments(command, all);
}

// For the P100 of the shipped profiles.
inline std::vector<std::string> TuneResNet(const FlagValues& flags = {}) {
  FlagValues all = flags;
  all.insert({"--profile", ProfilePath("p100_pcie")});
  return ResNet("tune", all);
}

// Two steps after one warm-up step.
inline nlohmann::ordered_json BenchResNet(const FlagValues& flags = {}) {
  FlagValues all = flags;
  all.insert({{"--num_batches", "2"}, {"--num_warmup_batches", "1"}});
  return RunForJson(ResNet("bench", all));
}

// Device bytes that the step needs without swaps.
inline int64_t PeakOfResNet() {
  return RunForJson(TuneResNet())["chosen"]["predicted"]["peak_device_bytes"]
      .get<int64_t>();
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TOOLS_TUNED_STEP_H_
