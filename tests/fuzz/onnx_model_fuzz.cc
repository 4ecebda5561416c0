// Feeds arbitrary bytes to the reader and the converters of ONNX models. What
// is accepted can be written as a graph that is valid.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "graph/builder/builder.h"
#include "onnx_model/import.h"
#include "ops/all_ops.h"
#include "tests/fuzz/fuzz_input.h"

namespace spillway {
namespace {

// Whether the model can be imported.
bool CanImport(const OnnxModel& model, bool plan_only) {
  GraphBuilder g(StandardOps(), "fuzz");
  const auto network = model.AddTo(g, {.batch_size = 2,
                                       .training = OnnxTrainingOptions(),
                                       .plan_only = plan_only});
  if (!network.ok()) return false;
  SPILLWAY_CHECK(std::move(g).Build().ok());
  // Reading the weights must not reserve more than the file has.
  const auto values = model.InitialValues(network->variables);
  SPILLWAY_CHECK(!values.ok() || values->size() <= network->variables.size());
  return true;
}

}  // namespace
}  // namespace spillway

// libFuzzer defines the name and the types.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto model = spillway::OnnxModel::Parse(spillway::FuzzInput(data, size),
                                                "/nonexistent/model.onnx");
  if (!model.ok()) return 0;
  if (!spillway::CanImport(*model, /*plan_only=*/false)) {
    spillway::CanImport(*model, /*plan_only=*/true);
  }
  return 0;
}
