// ArrayDataset: arrays with a row for each sample, as a Dataset.
#ifndef SPILLWAY_PYTHON_MODULE_ARRAY_DATASET_H_
#define SPILLWAY_PYTHON_MODULE_ARRAY_DATASET_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pybind11/pybind11.h"
#include "python/module/arrays.h"
#include "python/module/step.h"
#include "training/data/dataset.h"

namespace spillway::python {

// Its fields are inputs of a step, without the batch dimension, each an array
// [samples, ...], which is borrowed where TensorOf borrows it. Reading needs no
// GIL.
class ArrayDataset : public Dataset {
 public:
  // `arrays`: {name: array} for each of `names`, which are inputs of `step`.
  // Throws InvalidArgument naming the array that is missing, unknown, of
  // another type or shape, or has another number of samples.
  ArrayDataset(const pybind11::dict& arrays,
               const std::vector<std::string>& names, const Step& step);

  int64_t size() const override { return size_; }
  const std::vector<TensorType>& fields() const override { return fields_; }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override;

 private:
  int64_t size_ = 0;
  std::vector<ArrayTensor> tensors_;
  std::vector<TensorType> fields_;
};

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_ARRAY_DATASET_H_
