// The data sets of `spillway train`.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_DATA_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_DATA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "training/data/image_dataset.h"

namespace spillway {

// The values of --data, in the order of its help text.
std::vector<std::string> DataNames();

struct TrainData {
  std::unique_ptr<ImageDataset> training = {};
  std::unique_ptr<ImageDataset> test = {};
};

struct TrainDataSpec {
  std::string name = {};    // one of DataNames()
  std::string folder = {};  // empty: the default of `name`
  // Of image folders:
  int64_t image_size = 224;
  uint64_t seed = 0;          // of random crops
  bool skip_corrupt = false;  // ImageFolderOptions::skip_corrupt
};

// Errors name --data_dir.
absl::StatusOr<TrainData> OpenTrainData(const TrainDataSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_TRAIN_DATA_H_
