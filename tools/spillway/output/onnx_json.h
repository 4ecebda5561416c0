// What was made of an ONNX model (docs/onnx.md).
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_ONNX_JSON_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_ONNX_JSON_H_

#include <cstdint>
#include <string>

#include "base/json.h"
#include "graph/graph.h"
#include "onnx_model/import.h"

namespace spillway {

// Transposes of activations and weights; those of gradients are not counted.
int64_t CountTransposes(const Graph& graph);

Json OnnxJson(const OnnxNetwork& network, int64_t transposes);
// `graph` has the imported network.
std::string FormatOnnx(const OnnxNetwork& network, const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_ONNX_JSON_H_
