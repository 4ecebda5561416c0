// The class Session of Python: variables, a device, and steps over them.
#ifndef SPILLWAY_PYTHON_MODULE_RUNNING_SESSION_H_
#define SPILLWAY_PYTHON_MODULE_RUNNING_SESSION_H_

#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "pybind11/pybind11.h"
#include "python/module/graph/step.h"
#include "python/module/running/updates.h"
#include "python/module/status.h"
#include "tuner/step_options.h"

namespace spillway::python {

// A session with its steps. One caller at a time: others wait, without the GIL,
// which must be held for all calls. After Close, every call but Close throws
// FailedPrecondition.
class SessionHandle {
 public:
  // `evaluation` may be null. `programs`: of both, placed. Throws what
  // CreateTunedSession returns, and KeyboardInterrupt.
  SessionHandle(StepPtr step, StepPtr evaluation, std::vector<Program> programs,
                const StepOptions& options);
  ~SessionHandle() { Close(); }
  SessionHandle(const SessionHandle&) = delete;
  SessionHandle& operator=(const SessionHandle&) = delete;

  void Close();

  const Step& step() const { return *step_; }
  // Throws FailedPrecondition if there is none.
  const Step& evaluation() const;

  // Of a step that trains, with the session as in With; else null.
  Updates* updates() { return updates_ ? &*updates_ : nullptr; }

  // fn(session), called without the GIL. Its result is returned; an error that
  // it returns is thrown.
  template <typename Fn>
  auto With(const Fn& fn) {
    using Result = std::invoke_result_t<Fn, Session&>;
    Result result = [&] {
      const pybind11::gil_scoped_release released;
      const std::scoped_lock lock(mutex_);
      if (session_ == nullptr) throw StatusError(Closed());
      return fn(*session_);
    }();
    return Unwrap(std::move(result));
  }

 private:
  static absl::Status Closed();

  static void Unwrap(const absl::Status& status) { ThrowIfError(status); }
  template <typename T>
  static T Unwrap(absl::StatusOr<T> result) {
    return ValueOrThrow(std::move(result));
  }
  template <typename T>
  static T Unwrap(T result) {
    return result;
  }

  absl::Status Open(std::vector<Program> programs, const StepOptions& options);

  StepPtr step_;
  StepPtr evaluation_;
  std::mutex mutex_;
  std::optional<Updates> updates_;
  std::unique_ptr<Session> session_;
};

void BindSession(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_RUNNING_SESSION_H_
