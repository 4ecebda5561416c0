// What a model has that cannot be imported: all of it at once, so that a user
// does not find out one op at a time.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_UNSUPPORTED_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_UNSUPPORTED_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/builder/op_tally.h"
#include "onnx_model/import.h"

namespace spillway::onnx_model {

class UnsupportedOps {
 public:
  // `why`: the attribute or version, empty if it is the op itself.
  void Add(const onnx::NodeProto& node, const std::string& why);

  std::vector<OnnxUnsupported> List() const;  // most frequent first

  // INVALID_ARGUMENT: "cannot import NonZero (2, first a/NonZero), MaxPool (1,
  // first pool1: dilations); ...", most frequent first, with ops of other
  // domains as domain.op.
  absl::Status Status() const;

 private:
  OpTally tally_;  // of ops with their domains
  std::map<std::string, const onnx::NodeProto*> examples_;  // of each such op
};

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_UNSUPPORTED_H_
