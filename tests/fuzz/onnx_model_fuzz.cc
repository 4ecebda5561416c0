// Feeds arbitrary bytes to the reader and the converters of ONNX models. What
// is accepted can be written as a graph that is valid.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "graph/builder/builder.h"
#include "onnx_model/import.h"
#include "ops/all_ops.h"
#include "tests/fuzz/fuzz_input.h"

// libFuzzer defines the name and the types.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto model = spillway::OnnxModel::Parse(spillway::FuzzInput(data, size),
                                                "/nonexistent/model.onnx");
  if (!model.ok()) return 0;
  spillway::GraphBuilder g(spillway::StandardOps(), "fuzz");
  const auto network = model->AddTo(
      g, {.batch_size = 2, .training = spillway::OnnxTrainingOptions()});
  if (!network.ok()) return 0;
  SPILLWAY_CHECK(std::move(g).Build().ok());
  // Reading the weights must not reserve more than the file has.
  const auto values = model->InitialValues(network->variables);
  SPILLWAY_CHECK(!values.ok() || values->size() <= network->variables.size());
  return 0;
}
