// Keyword arguments: of one that is unknown, the error names the nearest.
#ifndef SPILLWAY_PYTHON_MODULE_OPTIONS_H_
#define SPILLWAY_PYTHON_MODULE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "graph/passes/pass.h"
#include "graph/passes/standard_passes.h"
#include "pybind11/pybind11.h"
#include "tuner/placement/place_programs.h"
#include "tuner/step_options.h"

namespace spillway::python {

// What each keyword argument does; called with its value, which is not None.
using Setters =
    std::map<std::string, std::function<void(pybind11::handle value)>>;

// Applies `arguments`; those that are None are left out. Throws
// InvalidArgument, naming the argument, for an unknown one and for a value that
// a setter cannot take.
void Apply(const pybind11::kwargs& arguments, const Setters& setters);

// A setter that casts the value to T.
template <typename T>
std::function<void(pybind11::handle)> To(T& place) {
  return [&place](pybind11::handle value) { place = pybind11::cast<T>(value); };
}

// One of the keys of `choices`. Throws InvalidArgument listing them.
template <typename T>
T ChoiceOf(pybind11::handle value, const std::map<std::string, T>& choices);

// 1073741824, "1GiB" or "1.5GB".
int64_t BytesFrom(pybind11::handle value);

// A path: text, or an object with __fspath__.
std::string PathFrom(pybind11::handle value);

struct RunOptions {
  StepOptions step = {};
  PlaceMode place = PlaceMode::kOff;
};

// The keyword arguments of spillway.options, as the flags of these names
// (docs/cli.md). Ctrl-C ends a search.
RunOptions RunOptionsFrom(const pybind11::kwargs& arguments);

// The passes of these names, for the device. Throws as SelectPasses.
std::vector<Pass> PassesFor(const std::string& names,
                            const std::string& device);

// A StopRequest: whether a signal has come that raises an exception, such as
// Ctrl-C. Takes the GIL.
bool SignalCame();

// After work that asked for Ctrl-C: throws KeyboardInterrupt if it came. The
// GIL must be held.
void ThrowIfInterrupted();

// --- Implementation ---

[[noreturn]] void ThrowUnknownChoice(pybind11::handle value,
                                     const std::vector<std::string>& known);

template <typename T>
T ChoiceOf(pybind11::handle value, const std::map<std::string, T>& choices) {
  if (pybind11::isinstance<pybind11::str>(value)) {
    const auto found = choices.find(pybind11::cast<std::string>(value));
    if (found != choices.end()) return found->second;
  }
  std::vector<std::string> known;
  for (const auto& [name, choice] : choices) known.push_back(name);
  ThrowUnknownChoice(value, known);
}

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_OPTIONS_H_
