// Inputs with the classes that a network learns to tell.
#ifndef SPILLWAY_TRAINING_DATA_LABELLED_DATASET_H_
#define SPILLWAY_TRAINING_DATA_LABELLED_DATASET_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "training/data/dataset.h"

namespace spillway {

enum class Split : uint8_t { kTrain, kTest };

// Fields: the input, and its labels, int32 of any shape ([]: one for the whole
// input), each from 0 to num_classes() - 1.
class LabelledDataset : public Dataset {
 public:
  virtual int64_t num_classes() const = 0;
};

// `folder`/train.`ending` or test.`ending`. Errors: NOT_FOUND naming folder and
// file.
absl::StatusOr<std::string> FindSplitFile(const std::string& folder,
                                          Split split, std::string_view ending);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_LABELLED_DATASET_H_
