// The inputs of a model with their dimensions bound: before anything else is
// looked at, so that every shape is known from the start.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_MODEL_INPUTS_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_MODEL_INPUTS_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/file/element_type.h"
#include "onnx_model/import.h"

namespace spillway::onnx_model {

struct ModelInput {
  std::string name = {};
  ElementType type = ElementType::kFloat;
  std::vector<int64_t> dims = {};
};

struct ModelInputs {
  std::vector<ModelInput> inputs = {};
  int64_t batch_size = 0;
  int64_t file_batch = 0;  // that the file fixes; 0: none
  // Values of the symbols that inputs have as dimensions.
  std::map<std::string, int64_t> symbols = {};
};

// Without initializers, which older files list among the inputs. Errors:
// INVALID_ARGUMENT naming the input for one that is no tensor or of a type
// that no graph has, naming all dimensions that have no value, and for a name
// of `options.dims` that no dimension has.
absl::StatusOr<ModelInputs> BindInputs(const onnx::GraphProto& graph,
                                       const OnnxImportOptions& options);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_MODEL_INPUTS_H_
