// A dataset whose samples contain their own index.
#ifndef SPILLWAY_TESTS_TRAINING_DATA_COUNTING_DATASET_H_
#define SPILLWAY_TESTS_TRAINING_DATA_COUNTING_DATASET_H_

#include <cstring>
#include <span>
#include <vector>

#include "base/status_macros.h"
#include "training/data/dataset.h"

namespace spillway::testing {

// Sample i: float32 [2] = {i, i + 0.5} and int32 [] = 10 i.
class CountingDataset : public Dataset {
 public:
  explicit CountingDataset(int64_t size) : size_(size) {}

  // Makes reading sample `index` fail.
  void FailAt(int64_t index) { failing_ = index; }

  int64_t size() const override { return size_; }
  const std::vector<TensorType>& fields() const override { return fields_; }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override {
    if (index == failing_) return Internal("the disk is on fire");
    const float values[] = {static_cast<float>(index),
                            static_cast<float>(index) + 0.5f};
    const auto label = static_cast<int32_t>(10 * index);
    std::memcpy(buffers[0], values, sizeof(values));
    std::memcpy(buffers[1], &label, sizeof(label));
    return absl::OkStatus();
  }

 private:
  int64_t size_;
  int64_t failing_ = -1;
  std::vector<TensorType> fields_ = {
      {.dtype = DType::kFloat32, .shape = {2}},
      {.dtype = DType::kInt32, .shape = Shape()}};
};

// All elements of field 1 of sample `index`.
inline std::vector<int32_t> ReadLabels(const Dataset& dataset, int64_t index) {
  std::vector<std::byte> first(
      static_cast<size_t>(dataset.fields()[0].num_bytes()));
  std::vector<int32_t> labels(
      static_cast<size_t>(dataset.fields()[1].num_elements()));
  const std::vector<std::byte*> buffers = {
      first.data(), reinterpret_cast<std::byte*>(labels.data())};
  if (!dataset.Read(index, buffers).ok()) return {};
  return labels;
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TRAINING_DATA_COUNTING_DATASET_H_
