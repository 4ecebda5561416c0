#include "python/module/status.h"

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "executor/plan/memory_shortage.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

// Parts of messages that name the C++ interface, and their names here.
struct Replacement {
  std::string_view text;
  std::string_view here;
};
constexpr Replacement kReplacements[] = {
    {kAutoAdvice, "lms=\"auto\""},
    {kFindMaxBatchHint, ""},
    {" run on the host what is too large (PlaceMode::kAuto), or", ""},
    {"AlgorithmChoice::kAuto", "algorithms=\"auto\""},
};

std::string MessageOf(const absl::Status& status) {
  std::string message(status.message());
  for (const auto& [text, here] : kReplacements) {
    const size_t at = message.find(text);
    if (at != std::string::npos) message.replace(at, text.size(), here);
  }
  return message;
}

py::object ExceptionFor(const absl::Status& status) {
  py::dict shortage;
  if (const std::optional<MemoryShortage> found = ShortageOf(status)) {
    shortage["needed_bytes"] = found->needed_bytes;
    shortage["budget_bytes"] = found->budget_bytes;
    shortage["missing_bytes"] = found->needed_bytes - found->budget_bytes;
    shortage["floor_bytes"] = found->floor_bytes;
    shortage["floor_node"] = found->floor_node;
  }
  const std::string code = absl::StatusCodeToString(status.code());
  return py::module_::import("spillway.errors")
      .attr("exception_for")(code, MessageOf(status), shortage);
}

// (By value: pybind11 asks for this type.)
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void Translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const StatusError& error) {
    const py::object exception = ExceptionFor(error.status());
    PyErr_SetObject(py::type::of(exception).ptr(), exception.ptr());
  }
}

}  // namespace

void RegisterErrors() {
  SetShortagePayloads(true);
  py::register_exception_translator(Translate);
}

}  // namespace spillway::python
