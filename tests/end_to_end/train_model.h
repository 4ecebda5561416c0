// Trains a graph or a model of the zoo for a few steps on synthetic data.
// Returns everything that must not depend on swapping, bit for bit: losses and
// variables.
#ifndef SPILLWAY_TESTS_END_TO_END_TRAIN_MODEL_H_
#define SPILLWAY_TESTS_END_TO_END_TRAIN_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/executor.h"
#include "executor/session/session.h"
#include "lms/options.h"
#include "training/optimizer.h"

namespace spillway::testing {

struct TrainGraphSpec {
  int64_t num_classes = 10;  // of labels
  int steps = 3;
  std::string device = "inline";
  int threads = 2;
  double link_gbps = 0;
  std::optional<int64_t> device_memory = {};
  std::optional<int64_t> host_memory = {};
  ScheduleKind schedule = ScheduleKind::kAuto;
  bool check_memory = false;
};

struct TrainModelSpec {
  std::string model = "lenet";
  int64_t batch_size = 4;
  int64_t image_size = 0;  // 0: the model's default
  int64_t num_classes = 10;
  DType dtype = DType::kFloat32;  // of activations
  Optimizer optimizer = Momentum{.learning_rate = 0.02};
  double weight_decay = 0;
  double loss_scale = 1;
  std::string passes = "none";  // see SelectPasses
  int steps = 3;
  std::string device = "inline";
  int threads = 2;
  double link_gbps = 0;
  std::optional<int64_t> device_memory = {};
  bool check_memory = false;
  LmsOptions lms = {};
};

struct TrainedModel {
  std::vector<float> losses;
  std::string checksum;
  MemoryUse memory;
  CopyCounts copies;
  int64_t swap_outs_in_graph = 0;
  int64_t updates_in_graph = 0;
};

// Runs steps of a session whose first program is `graph`.
absl::StatusOr<TrainedModel> TrainSession(Session& session, const Graph& graph,
                                          ValueId loss,
                                          const TrainGraphSpec& spec);

// `graph`: a training step, edited or not.
absl::StatusOr<TrainedModel> TrainGraph(const Graph& graph, ValueId loss,
                                        const TrainGraphSpec& spec);

absl::StatusOr<TrainedModel> TrainModel(const TrainModelSpec& spec);

// Every byte was where the plan said, and no step allocated memory.
void ExpectExactMemory(const TrainedModel& run);

// The run is bitwise identical to `expected`, with exact memory.
void ExpectSameTraining(const TrainedModel& run, const TrainedModel& expected);

// The run held at most these bytes; nullopt: any number of them.
void ExpectWithinBudgets(const TrainedModel& run, int64_t device_memory,
                         std::optional<int64_t> host_memory);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_END_TO_END_TRAIN_MODEL_H_
