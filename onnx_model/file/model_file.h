// An ONNX model as its file has it: the protobuf, and where its tensors' bytes
// are. Only this folder and its converters see protobuf types.
//
// The model is untrusted. Reading checks what would otherwise have to be
// checked everywhere: it is a protobuf of an ONNX model, its opset is one we
// know, every initializer has a name of its own, dimensions that can be
// multiplied, and as many bytes as they need. Threads: several may read a const
// ModelFile.
#ifndef SPILLWAY_ONNX_MODEL_FILE_MODEL_FILE_H_
#define SPILLWAY_ONNX_MODEL_FILE_MODEL_FILE_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/file/element_type.h"

namespace spillway::onnx_model {

constexpr int64_t kOldestOpset = 6;
constexpr int64_t kNewestOpset = 24;

class ModelFile {
 public:
  // Errors: INVALID_ARGUMENT naming the path: no such file, a folder, empty,
  // not a protobuf, cut short, above 2 GiB, and the faults named above.
  static absl::StatusOr<ModelFile> Read(const std::string& path);
  // Of bytes that came from `path`, which names them in errors.
  static absl::StatusOr<ModelFile> Parse(std::string_view bytes,
                                         const std::string& path);

  const std::string& path() const { return path_; }
  const onnx::ModelProto& model() const { return model_; }
  onnx::ModelProto& mutable_model() { return model_; }
  const onnx::GraphProto& graph() const { return model_.graph(); }
  // Of the default domain.
  int64_t opset() const { return opset_; }

 private:
  static absl::StatusOr<ModelFile> Checked(ModelFile file);

  std::string path_;
  onnx::ModelProto model_;
  int64_t opset_ = 0;
};

// "" and "ai.onnx" are the default domain.
bool IsDefaultDomain(std::string_view domain);

// Number of elements. Errors: INVALID_ARGUMENT for a negative dimension, a rank
// above 8 or 2^46 elements or more. A dimension may be 0.
absl::StatusOr<int64_t> CountElements(const std::vector<int64_t>& dims);

std::vector<int64_t> DimsOf(const onnx::TensorProto& tensor);
ElementType TypeOf(const onnx::TensorProto& tensor);

// The bytes of the tensor's elements, little-endian and row-major, whatever
// field or file has them. Errors: INVALID_ARGUMENT for a type without bytes,
// for a number of elements that does not fit the dimensions, and those of
// ReadExternalData.
absl::StatusOr<std::string> BytesOf(const onnx::TensorProto& tensor,
                                    const std::string& model_path);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_FILE_MODEL_FILE_H_
