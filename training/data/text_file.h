// A text for a network that predicts the next byte, held in memory. A sample is
// `length` bytes of it, the tokens, and their successors, the labels:
//
//   text      t h e   w a t e r
//   tokens    t h e   w            length 5, sample 0
//   labels    h e   w a
//
// Samples do not overlap. In a training split, all of them begin some bytes
// later in each epoch but the first: a random number below `length`, so that a
// training sees each byte after any number of others.
#ifndef SPILLWAY_TRAINING_DATA_TEXT_FILE_H_
#define SPILLWAY_TRAINING_DATA_TEXT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "training/data/labelled_dataset.h"

namespace spillway {

struct TextFileOptions {
  int64_t length = 64;  // tokens of a sample, at least 1
  uint64_t seed = 0;    // of the shifts
};

// Fields: int32 [length], twice.
class TextFile : public LabelledDataset {
 public:
  static constexpr int64_t kNumClasses = 256;

  // Reads `folder`/train.txt or test.txt, whatever bytes they have. Errors:
  // NOT_FOUND naming folder and file; those of ReadFile and Parse.
  static absl::StatusOr<std::unique_ptr<TextFile>> Open(
      const std::string& folder, Split split,
      const TextFileOptions& options = {});

  // The same from memory. `source` names the text in errors. Errors:
  // INVALID_ARGUMENT for a length below 1, and for a text too short for one
  // sample.
  static absl::StatusOr<std::unique_ptr<TextFile>> Parse(
      std::string text, std::string_view source, Split split,
      const TextFileOptions& options = {});

  int64_t num_classes() const override { return kNumClasses; }
  int64_t size() const override { return size_; }
  const std::vector<TensorType>& fields() const override { return fields_; }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override;
  absl::Status ReadInEpoch(int64_t epoch, int64_t index,
                           std::span<std::byte* const> buffers) const override;

 private:
  TextFile(std::string text, Split split, const TextFileOptions& options,
           int64_t size);

  const std::string text_;
  const Split split_;
  const TextFileOptions options_;
  const int64_t size_;
  const std::vector<TensorType> fields_;
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_TEXT_FILE_H_
