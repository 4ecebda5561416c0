// What a model has that cannot be imported: all of it at once, so that a user
// does not find out one op at a time.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_UNSUPPORTED_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_UNSUPPORTED_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace spillway::onnx_model {

class UnsupportedOps {
 public:
  // `op` with its domain if that is not the default one; `why`: the attribute
  // or version, empty if it is the op itself.
  void Add(const std::string& op, const std::string& node,
           const std::string& why);
  bool is_empty() const { return ops_.empty(); }

  // INVALID_ARGUMENT: "cannot import NonZero (2, first a/NonZero), MaxPool (1,
  // first pool1: dilations)", most frequent first.
  absl::Status Status() const;

 private:
  struct Found {
    int64_t count = 0;
    std::string first_node = {};
  };

  std::map<std::pair<std::string, std::string>, Found> ops_;
};

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_UNSUPPORTED_H_
