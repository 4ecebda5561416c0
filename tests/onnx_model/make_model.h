// ONNX models for tests, from protobuf's text format.
#ifndef SPILLWAY_TESTS_ONNX_MODEL_MAKE_MODEL_H_
#define SPILLWAY_TESTS_ONNX_MODEL_MAKE_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/import.h"

namespace spillway::testing {

// The bytes of a model whose graph is this text. CHECKs that it parses.
//   node { op_type: "Relu" input: "x" output: "y" }
std::string MakeModel(std::string_view graph, int64_t opset = 17);
// The whole model is this text.
std::string MakeWholeModel(std::string_view model);

// Text of an input or output: `dims` are numbers or symbols: "[N, 3, 8, 8]".
// Types are those of TensorProto: 1 is FLOAT, 7 INT64.
std::string InputText(std::string_view name, std::string_view dims,
                      int type = 1);
std::string OutputText(std::string_view name);
// Initializers; reals are 0, 1/8, 2/8, ...
std::string WeightText(std::string_view name, const std::vector<int64_t>& dims);
std::string IntegersText(std::string_view name,
                         const std::vector<int64_t>& values);

// A model after import: the graph, and what was made of the model.
struct Imported {
  Graph graph = {};
  OnnxNetwork network = {};
  TensorMap initial = {};

  int64_t Count(std::string_view op) const;  // nodes of the op
};
absl::StatusOr<Imported> Import(std::string_view bytes,
                                const OnnxImportOptions& options = {});

// The first output of one step on the CPU, with feeds of 0, 1/16, 2/16, ... up
// to 15/16 and again.
absl::StatusOr<std::vector<float>> RunFirstOutput(const Imported& model);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_ONNX_MODEL_MAKE_MODEL_H_
