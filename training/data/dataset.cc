#include "training/data/dataset.h"

#include <fmt/format.h>

#include "base/status_macros.h"
#include "graph/shape.h"
#include "training/data/catch_read.h"

namespace spillway {

std::vector<TensorType> FieldsOfRows(const Dataset& dataset, int64_t rows) {
  std::vector<TensorType> fields;
  for (const TensorType& field : dataset.fields()) {
    std::vector<int64_t> dims = field.shape.dims();
    dims.insert(dims.begin(), rows);
    fields.push_back({.dtype = field.dtype, .shape = Shape(std::move(dims))});
  }
  return fields;
}

absl::Status CheckIndex(const Dataset& dataset, int64_t index) {
  if (index >= 0 && index < dataset.size()) return absl::OkStatus();
  return InvalidArgument(fmt::format("there is no sample {}: the data has {}",
                                     index, dataset.size()));
}

absl::Status Dataset::ReadInEpoch(int64_t /*epoch*/, int64_t index,
                                  std::span<std::byte* const> buffers) const {
  return Read(index, buffers);
}

namespace {

absl::Status ReadSample(const Dataset& dataset, int64_t index, Batch& batch) {
  SPILLWAY_RETURN_IF_ERROR(dataset.status());
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(dataset, index));
  std::vector<std::byte*> buffers;
  for (const TensorType& type : dataset.fields()) {
    SPILLWAY_RETURN_IF_ERROR(Annotate(CheckShape(type.shape),
                                      fmt::format("field {}", buffers.size())));
    HostTensor& field = batch.fields.emplace_back();
    field.type = type;
    field.bytes.resize(static_cast<size_t>(type.num_bytes()));
    buffers.push_back(field.bytes.data());
  }
  return dataset.Read(index, buffers);
}

}  // namespace

absl::StatusOr<Batch> Dataset::Get(int64_t index) const {
  Batch batch;
  SPILLWAY_RETURN_IF_ERROR(
      CatchRead(index, [&] { return ReadSample(*this, index, batch); }));
  return batch;
}

}  // namespace spillway
