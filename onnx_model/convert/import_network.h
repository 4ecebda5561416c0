// A model's nodes as nodes of a graph: from its inputs to its outputs.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_IMPORT_NETWORK_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_IMPORT_NETWORK_H_

#include <span>

#include "absl/status/statusor.h"
#include "onnx_model/file/model_file.h"
#include "onnx_model/import.h"

namespace spillway::onnx_model {

// `nodes` are those of `file`, inlined and sorted. Errors: those of
// OnnxModel::AddTo, without the file's name.
absl::StatusOr<OnnxNetwork> ImportNetwork(
    const ModelFile& file, std::span<const onnx::NodeProto* const> nodes,
    GraphBuilder& g, const OnnxImportOptions& options);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_IMPORT_NETWORK_H_
