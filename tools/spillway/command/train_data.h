// The data sets of `spillway train`.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_DATA_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_DATA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "training/data/labelled_dataset.h"

namespace spillway {

// The values of --data, in the order of its help text.
std::vector<std::string> DataNames();

struct TrainData {
  std::unique_ptr<LabelledDataset> training = {};
  std::unique_ptr<LabelledDataset> test = {};
};

struct TrainDataSpec {
  std::string name = {};    // one of DataNames()
  std::string folder = {};  // empty: the default of `name`
  // Of image folders and texts:
  int64_t size = 224;         // height and width, or tokens of a sample
  uint64_t seed = 0;          // of random crops and shifts
  bool skip_corrupt = false;  // ImageFolderOptions::skip_corrupt
};

// Errors name --data_dir.
absl::StatusOr<TrainData> OpenTrainData(const TrainDataSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_DATA_H_
