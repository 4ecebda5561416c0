#include "training/data/dataset.h"

#include <fmt/format.h>

#include "base/status_macros.h"

namespace spillway {

absl::Status CheckIndex(const Dataset& dataset, int64_t index) {
  if (index >= 0 && index < dataset.size()) return absl::OkStatus();
  return InvalidArgument(fmt::format("there is no sample {}: the data has {}",
                                     index, dataset.size()));
}

absl::StatusOr<Batch> Dataset::Get(int64_t index) const {
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  Batch batch;
  std::vector<std::byte*> buffers;
  for (const TensorType& type : fields()) {
    HostTensor& field = batch.fields.emplace_back();
    field.type = type;
    field.bytes.resize(static_cast<size_t>(type.num_bytes()));
    buffers.push_back(field.bytes.data());
  }
  SPILLWAY_RETURN_IF_ERROR(Read(index, buffers));
  return batch;
}

}  // namespace spillway
