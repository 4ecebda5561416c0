#include "training/data/dataset.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <stdexcept>

#include "base/status_macros.h"
#include "graph/shape.h"

namespace spillway {

absl::Status CheckIndex(const Dataset& dataset, int64_t index) {
  if (index >= 0 && index < dataset.size()) return absl::OkStatus();
  return InvalidArgument(fmt::format("there is no sample {}: the data has {}",
                                     index, dataset.size()));
}

namespace {

absl::StatusOr<Batch> ReadSample(const Dataset& dataset, int64_t index) {
  SPILLWAY_RETURN_IF_ERROR(dataset.status());
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(dataset, index));
  Batch batch;
  std::vector<std::byte*> buffers;
  for (const TensorType& type : dataset.fields()) {
    SPILLWAY_RETURN_IF_ERROR(Annotate(CheckShape(type.shape),
                                      fmt::format("field {}", buffers.size())));
    HostTensor& field = batch.fields.emplace_back();
    field.type = type;
    field.bytes.resize(static_cast<size_t>(type.num_bytes()));
    buffers.push_back(field.bytes.data());
  }
  SPILLWAY_RETURN_IF_ERROR(dataset.Read(index, buffers));
  return batch;
}

absl::Status DoesNotFit(int64_t index, const std::exception& error) {
  return ResourceExhausted(fmt::format(
      "sample {} of the data does not fit in memory ({}); lower the batch size",
      index, error.what()));
}

}  // namespace

// Datasets of users may throw, and this may run on one of our threads.
absl::StatusOr<Batch> Dataset::Get(int64_t index) const {
  try {
    return ReadSample(*this, index);
  } catch (const std::bad_alloc& error) {
    return DoesNotFit(index, error);
  } catch (const std::length_error& error) {
    return DoesNotFit(index, error);
  } catch (const std::exception& error) {
    return Internal(fmt::format("reading sample {} of the data threw: {}",
                                index, error.what()));
  } catch (...) {
    return Internal(fmt::format("reading sample {} of the data threw", index));
  }
}

}  // namespace spillway
