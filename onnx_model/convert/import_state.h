// What the converters of one import share: the graph under construction, the
// model's values, its variables, and what could not be converted.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_IMPORT_STATE_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_IMPORT_STATE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/convert/freeze.h"
#include "onnx_model/convert/model_value.h"
#include "onnx_model/file/model_file.h"
#include "onnx_model/import.h"

namespace spillway::onnx_model {

// The order in which a variable has the elements of its weight: each dimension
// is seen as several (`parts`, outermost first), and all parts, numbered from
// the first of dimension 0 on, are permuted.
struct WeightOrder {
  std::vector<std::vector<int64_t>> parts = {};
  Order order = {};
};
// Without parts.
WeightOrder WithoutParts(const std::vector<int64_t>& dims, Order order);

class ImportState {
 public:
  // All are borrowed.
  ImportState(GraphBuilder& g, const ModelFile& file,
              const OnnxImportOptions& options, const FrozenNames& frozen)
      : g_(g), file_(file), options_(options), frozen_(frozen) {}

  GraphBuilder& builder() { return g_; }
  const ModelFile& file() const { return file_; }
  const OnnxImportOptions& options() const { return options_; }
  int64_t batch_size = 0;
  int64_t file_batch = 0;  // that the file fixes; 0: none
  OnnxFacts facts = {};

  // Values that a node reads, or that are outputs of the model.
  void AddRead(const std::string& name) { reads_.insert(name); }
  bool IsRead(const std::string& name) const { return reads_.contains(name); }

  void Define(ModelValue value);
  // `name` is the value `of` as well, which is defined.
  void DefineAlias(const std::string& name, const std::string& of);
  // Null if no node or input has defined it.
  ModelValue* Find(const std::string& name);

  // A node name that is free: `name` with the characters that a node's name
  // cannot have replaced by '_' and without leading slashes, or `fallback` if
  // nothing is left; with _2, _3, ... if that is taken.
  std::string NodeName(std::string_view name, std::string_view fallback);

  // The value as a tensor. A weight that no one has read yet becomes a variable
  // in the model's order. Errors: INVALID_ARGUMENT for a type that no graph
  // has; UNIMPLEMENTED for a sequence.
  absl::StatusOr<Arranged> TensorOf(ModelValue& value);

  // The weight as a variable in this order; if it has one already, that. A
  // constant of reals is a weight too. Errors: INVALID_ARGUMENT if a training
  // would train it and keep a moving average in it.
  absl::StatusOr<Arranged> BindWeight(ModelValue& value,
                                      const WeightOrder& order,
                                      WeightRole role);

  // The elements of a constant, or of a weight that is to be none. Errors:
  // INVALID_ARGUMENT if it is neither, or those of ReadConstant.
  absl::StatusOr<Constant> ConstantOf(const ModelValue& value) const;

  const std::vector<OnnxVariable>& variables() const { return variables_; }
  // Initializers of one dimension and one number throughout that several nodes
  // read as weights, as if equal ones had been merged.
  const std::set<std::string>& merged() const { return merged_; }

 private:
  absl::StatusOr<Arranged> AddConst(const ModelValue& value);
  // A variable is bound once more.
  absl::Status BindAgain(const ModelValue& value, WeightRole role);

  GraphBuilder& g_;
  const ModelFile& file_;
  const OnnxImportOptions& options_;
  const FrozenNames& frozen_;
  std::deque<ModelValue> values_;
  std::map<std::string, ModelValue*> by_name_;  // into values_
  std::unordered_set<std::string> reads_;
  std::set<std::string> names_;
  std::vector<OnnxVariable> variables_;
  std::set<std::string> merged_;
};

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_IMPORT_STATE_H_
