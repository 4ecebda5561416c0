// Long work of C++, without the GIL, and functions of Python that it calls.
#ifndef SPILLWAY_PYTHON_MODULE_CALLBACKS_H_
#define SPILLWAY_PYTHON_MODULE_CALLBACKS_H_

#include <exception>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "pybind11/pybind11.h"
#include "python/module/options.h"
#include "python/module/status.h"

namespace spillway::python {

template <typename Work>
auto Released(const Work& work) {
  const pybind11::gil_scoped_release released;
  return work();
}

// work(), which returns a StatusOr, without the GIL; then its value. Throws its
// error, and KeyboardInterrupt.
template <typename Work>
auto WithoutGil(const Work& work) {
  auto result = Released(work);
  ThrowIfInterrupted();
  return ValueOrThrow(std::move(result));
}

// What a function of Python throws ends the work, and arrives in Python as it
// was.
class Callbacks {
 public:
  // In the work: fn(), which returns a StatusOr, with the GIL.
  template <typename Fn>
  std::invoke_result_t<Fn> Call(const Fn& fn) {
    const pybind11::gil_scoped_acquire gil;
    try {
      return fn();
    } catch (...) {
      thrown_ = std::current_exception();
      return Internal("a function of Python has thrown");
    }
  }

  // As the function of this name; throws also what a call has thrown.
  template <typename Work>
  auto WithoutGil(const Work& work) {
    auto result = Released(work);
    if (thrown_ != nullptr) {
      std::rethrow_exception(std::exchange(thrown_, nullptr));
    }
    ThrowIfInterrupted();
    return ValueOrThrow(std::move(result));
  }

 private:
  std::exception_ptr thrown_;
};

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_CALLBACKS_H_
