// Errors: a Status becomes a Python exception of spillway.errors.
#ifndef SPILLWAY_PYTHON_MODULE_STATUS_H_
#define SPILLWAY_PYTHON_MODULE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pybind11/pybind11.h"

namespace spillway::python {

// Makes StatusError below arrive in Python as the exception that
// spillway.errors.exception_for makes of it.
void RegisterErrors();

// Thrown with or without the GIL.
class StatusError : public std::exception {
 public:
  explicit StatusError(absl::Status status) : status_(std::move(status)) {}
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

inline void ThrowIfError(const absl::Status& status) {
  if (!status.ok()) throw StatusError(status);
}

template <typename T>
T ValueOrThrow(absl::StatusOr<T> value) {
  ThrowIfError(value.status());
  return *std::move(value);
}

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_STATUS_H_
