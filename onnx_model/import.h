// Users' own models: an ONNX file becomes nodes of a graph.
//
//   GraphBuilder g;
//   SPILLWAY_ASSIGN_OR_RETURN(OnnxModel model, OnnxModel::Read("net.onnx"));
//   SPILLWAY_ASSIGN_OR_RETURN(OnnxNetwork net,
//                             model.AddTo(g, {.batch_size = 32}));
//   Tensor loss = ...;                      // of net.outputs[0].tensor
//   Minimize(g.Scope("sgd_optimizer"), loss, Sgd());
//
// Every initializer of reals becomes a Variable, whose first values are those
// of the file (InitialValues); shapes are fixed at import; what can be computed
// from shapes and constants alone is, and leaves no node. Activations lie
// channels-last, feeds and fetches are as in the model
// (onnx_model/layout/arranged.h).
//
// The file is untrusted: no content of it ends the program, reads another file
// than its external data, or reserves memory that the file's size does not
// justify.
#ifndef SPILLWAY_ONNX_MODEL_IMPORT_H_
#define SPILLWAY_ONNX_MODEL_IMPORT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/builder/builder.h"
#include "training/safetensors.h"

namespace spillway {

// Whether the library was built with ONNX; without it, OnnxModel::Read is
// UNIMPLEMENTED and says what is missing.
bool HasOnnx();

// What BatchNormalization nodes do.
enum class OnnxBatchNorm : uint8_t {
  kTrain,   // statistics of the batch, and the moving ones follow
  kFrozen,  // moving statistics; scale and offset may be trained
  kModel,   // as each node's training_mode says
};

// What Dropout nodes do.
enum class OnnxDropout : uint8_t {
  kOn,     // drop, with the node's ratio
  kOff,    // nothing
  kModel,  // as each node's training_mode says
};

// A loss that is added behind an output of the model; the mean over all
// elements, or rows of logits.
enum class OnnxLoss : uint8_t {
  // Logits [B, C] or [B, C, d...] and labels [B, d...].
  kSparseSoftmaxCrossEntropy,
  // Any shape, and targets of the same; of the first, in [0, 1] beside logits.
  kSigmoidCrossEntropy,
  kMeanSquaredError,
  kMeanAbsoluteError,
  kOutput,  // the output, a number, is the loss itself
};

struct OnnxTrainingOptions {
  OnnxLoss loss = OnnxLoss::kSparseSoftmaxCrossEntropy;
  std::string output = {};  // its name; empty: the first
};

struct OnnxImportOptions {
  // Dimension 0 of every input. 0: what the file says, or 32 where it says
  // nothing.
  int64_t batch_size = 0;
  std::map<std::string, int64_t> dims = {};  // of other symbols
  // Of inputs whose shape is known, by name: they bind all symbols. What the
  // file fixes must agree.
  std::map<std::string, Shape> shapes = {};
  // Of activations; variables are float32.
  DType dtype = DType::kFloat32;
  OnnxBatchNorm batch_norm = OnnxBatchNorm::kModel;
  OnnxDropout dropout = OnnxDropout::kModel;
  // ECMAScript regular expressions, searched in the names of initializers:
  // which variables are not trained; or if there are any, which alone are.
  std::vector<std::string> freeze = {};
  std::vector<std::string> train_only = {};
  // Nullopt: no loss.
  std::optional<OnnxTrainingOptions> training = {};
  // Nodes that cannot be imported become plan-only nodes (docs/graph_file.md):
  // the graph can be planned and simulated, but not run.
  bool plan_only = false;
};

// An input or output of the imported model.
struct OnnxValue {
  std::string name = {};
  // Placeholder or result, with the model's dimensions in the model's order.
  Tensor tensor = {};
  std::string element_type = {};  // in the model: "FLOAT", "INT64"
};

// A variable and where its first value comes from. The initializer's elements
// [dims] are seen as [parts], whose dimensions are then permuted by `perm`:
// these are the variable's elements.
struct OnnxVariable {
  std::string name = {};         // of the node
  std::string initializer = {};  // or of the value that a constant node makes
  std::string element_type = {};
  Shape dims = {};
  Shape parts = {};
  std::vector<int> perm = {};
  Shape shape = {};  // of the variable
  bool is_trainable = true;
  bool is_statistic = false;  // a moving average of batch norm, or a constant
  // Of a constant node, the value of every element, or all of them in the
  // model's order.
  std::optional<double> fill = {};
  std::vector<double> values = {};
};

// An op that cannot be imported, or not as some nodes have it.
struct OnnxUnsupported {
  std::string op = {};
  std::string domain = {};  // empty: the default one
  int64_t count = 0;
  std::string first_node = {};
  std::string why = {};  // an attribute or version; empty: the op itself
};

struct OnnxFacts {
  std::string file = {};  // without folders
  int64_t ir_version = 0;
  int64_t opset = 0;
  std::string producer = {};
  int64_t nodes = 0;         // of the model, functions inlined
  int64_t folded_nodes = 0;  // computed at import
  int64_t fused_nodes = 0;   // that became few: a LayerNorm, a Gelu
  int64_t batch_norms = 0;
  int64_t convolutions_with_bias = 0;
};

struct OnnxNetwork {
  OnnxFacts facts = {};
  int64_t batch_size = 0;
  std::vector<OnnxValue> inputs = {};
  std::vector<OnnxValue> outputs = {};  // without options.training
  std::vector<OnnxVariable> variables = {};
  // With options.plan_only; most frequent first.
  std::vector<OnnxUnsupported> unsupported = {};

  // With options.training. The target is a Placeholder: int32 labels, or
  // float32 targets in the model's order; invalid for OnnxLoss::kOutput.
  Tensor target = {};
  Tensor logits = {};  // [rows, classes], of a cross entropy
  Tensor loss = {};    // float32 scalar
  // What a user should know of the training, a line each.
  std::vector<std::string> notes = {};
};

class OnnxModel {
 public:
  // Errors: INVALID_ARGUMENT naming the file and what is wrong with it.
  static absl::StatusOr<OnnxModel> Read(const std::string& path);
  // Of bytes that came from `path`, next to which external data lies.
  static absl::StatusOr<OnnxModel> Parse(std::string_view bytes,
                                         const std::string& path);
  OnnxModel(OnnxModel&&) noexcept;
  OnnxModel& operator=(OnnxModel&&) noexcept;
  ~OnnxModel();

  // Names of the model, in its order. Inputs that are no initializers.
  std::vector<std::string> input_names() const;
  std::vector<std::string> initializer_names() const;

  // Replaces the initializers of these names. Errors: INVALID_ARGUMENT naming
  // one that does not exist or is of another type; nothing is changed then.
  absl::Status ReplaceInitializers(const TensorMap& tensors);

  // Appends the model's nodes to `g`, which should be empty: nodes have the
  // model's names. Errors: INVALID_ARGUMENT naming the file, and one of: all
  // ops that are not supported, with plan_only all values of theirs whose shape
  // is not known, a dimension without a value, a node whose
  // inputs do not fit, a regular expression that is none or finds nothing. They
  // are not kept by the builder.
  absl::StatusOr<OnnxNetwork> AddTo(GraphBuilder& g,
                                    const OnnxImportOptions& options) const;

  // The first values of `variables`, by node name, as the graph holds them;
  // without those that are filled with one number, which their node's
  // initializer says.
  // Errors: INVALID_ARGUMENT naming the initializer whose bytes are missing or
  // of the wrong number.
  absl::StatusOr<TensorMap> InitialValues(
      const std::vector<OnnxVariable>& variables) const;

  // For export.h: the file as it was read.
  class Content;
  const Content& content() const { return *content_; }

 private:
  explicit OnnxModel(std::unique_ptr<Content> content);

  std::unique_ptr<Content> content_;
};

}  // namespace spillway

#endif  // SPILLWAY_ONNX_MODEL_IMPORT_H_
