// Batch: the fields of one sample or batch, in its own memory.
#ifndef SPILLWAY_TRAINING_DATA_BATCH_H_
#define SPILLWAY_TRAINING_DATA_BATCH_H_

#include <cstddef>
#include <vector>

#include "executor/session/session.h"
#include "executor/tensor.h"

namespace spillway {

struct Batch {
  std::vector<HostTensor> fields = {};

  bool empty() const { return fields.empty(); }
  size_t size() const { return fields.size(); }
  // A feed of field `field`, which must exist. Borrows the batch.
  TensorView operator[](size_t field) const {
    return {.type = fields[field].type, .data = fields[field].bytes.data()};
  }
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_BATCH_H_
