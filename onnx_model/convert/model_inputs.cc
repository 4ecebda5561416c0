#include "onnx_model/convert/model_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "base/status_macros.h"
#include "graph/shape.h"

namespace spillway::onnx_model {
namespace {

using Dimension = onnx::TensorShapeProto::Dimension;

constexpr int64_t kDefaultBatch = 32;

class Binder {
 public:
  Binder(const onnx::GraphProto& graph, const OnnxImportOptions& options)
      : graph_(graph), options_(options), unused_(Names(options)) {}

  absl::StatusOr<ModelInputs> Bind() {
    FindBatch();
    std::set<std::string> names;
    for (const onnx::ValueInfoProto* input : Inputs()) {
      if (input->name().empty() || !names.insert(input->name()).second) {
        return InvalidArgument(fmt::format(
            "has an input without a name, or two called '{}'", input->name()));
      }
      SPILLWAY_RETURN_IF_ERROR(
          Annotate(BindInput(*input), fmt::format("input {}", input->name())));
    }
    if (!missing_.empty()) {
      return InvalidArgument(fmt::format("dimensions without a value: {}",
                                         fmt::join(missing_, ", ")));
    }
    if (!unused_.empty()) {
      return InvalidArgument(fmt::format(
          "no dimension of an input is called {}", *unused_.begin()));
    }
    for (const std::string& symbol : batch_symbols_) {
      result_.symbols.emplace(symbol, result_.batch_size);
    }
    return result_;
  }

 private:
  static std::set<std::string> Names(const OnnxImportOptions& options) {
    std::set<std::string> names;
    for (const auto& [name, value] : options.dims) names.insert(name);
    return names;
  }

  std::vector<const onnx::ValueInfoProto*> Inputs() const {
    std::set<std::string> initializers;
    for (const onnx::TensorProto& tensor : graph_.initializer()) {
      initializers.insert(tensor.name());
    }
    std::vector<const onnx::ValueInfoProto*> inputs;
    for (const onnx::ValueInfoProto& input : graph_.input()) {
      if (!initializers.contains(input.name())) inputs.push_back(&input);
    }
    return inputs;
  }

  // The batch, and the symbols that stand for it.
  void FindBatch() {
    int64_t named = 0;
    for (const onnx::ValueInfoProto* input : Inputs()) {
      const auto& shape = input->type().tensor_type().shape();
      if (shape.dim_size() == 0) continue;
      const Dimension& first = shape.dim(0);
      if (result_.file_batch == 0 && first.dim_value() > 0) {
        result_.file_batch = first.dim_value();
      }
      if (first.dim_param().empty()) continue;
      const auto stated = options_.dims.find(first.dim_param());
      if (stated != options_.dims.end()) named = stated->second;
      batch_symbols_.insert(first.dim_param());
    }
    result_.batch_size = options_.batch_size;
    if (result_.batch_size == 0) result_.batch_size = named;
    if (result_.batch_size == 0) result_.batch_size = result_.file_batch;
    if (result_.batch_size == 0) result_.batch_size = kDefaultBatch;
  }

  absl::Status BindInput(const onnx::ValueInfoProto& input) {
    if (!input.type().has_tensor_type()) {
      return InvalidArgument("is not a tensor");
    }
    const auto& tensor = input.type().tensor_type();
    ModelInput bound = {.name = input.name(),
                        .type = static_cast<ElementType>(tensor.elem_type())};
    if (!DTypeOf(bound.type).has_value()) {
      return InvalidArgument(fmt::format("is of {}, which no graph has",
                                         ElementTypeName(bound.type)));
    }
    const auto known = options_.shapes.find(input.name());
    if (known != options_.shapes.end()) {
      SPILLWAY_RETURN_IF_ERROR(CheckKnown(tensor, known->second));
      bound.dims = known->second.dims();
      SPILLWAY_RETURN_IF_ERROR(CheckShape(known->second));
      result_.inputs.push_back(std::move(bound));
      return absl::OkStatus();
    }
    if (!tensor.has_shape()) return InvalidArgument("states no dimensions");
    for (int i = 0; i < tensor.shape().dim_size(); ++i) {
      SPILLWAY_ASSIGN_OR_RETURN(
          bound.dims.emplace_back(),
          ValueOf(tensor.shape().dim(i), i, input.name()));
    }
    SPILLWAY_RETURN_IF_ERROR(CheckShape(Shape(bound.dims)));
    result_.inputs.push_back(std::move(bound));
    return absl::OkStatus();
  }

  // A shape from outside: fixed dimensions, and symbols that were seen before.
  absl::Status CheckKnown(const onnx::TypeProto::Tensor& tensor,
                          const Shape& shape) {
    if (!tensor.has_shape()) return absl::OkStatus();
    const int rank = tensor.shape().dim_size();
    if (rank != shape.rank()) {
      return InvalidArgument(fmt::format("has {} dimensions, not {}: {}", rank,
                                         shape.rank(), shape.ToString()));
    }
    for (int i = 0; i < rank; ++i) {
      const Dimension& dim = tensor.shape().dim(i);
      const int64_t value = shape.dim(i);
      if (dim.dim_value() > 0 && dim.dim_value() != value) {
        return InvalidArgument(fmt::format("dimension {} is {}, not {}", i,
                                           dim.dim_value(), value));
      }
      if (dim.dim_param().empty()) continue;
      const auto [seen, is_new] =
          result_.symbols.emplace(dim.dim_param(), value);
      if (seen->second != value) {
        return InvalidArgument(fmt::format(
            "dimension {} is {} and {}", dim.dim_param(), seen->second, value));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> ValueOf(const Dimension& dim, int place,
                                  const std::string& input) {
    if (dim.dim_value() > 0) {
      const bool is_batch = place == 0 && dim.dim_value() == result_.file_batch;
      return is_batch ? result_.batch_size : dim.dim_value();
    }
    const std::string& name = dim.dim_param();
    const auto stated = options_.dims.find(name);
    if (!name.empty() && stated != options_.dims.end()) {
      unused_.erase(name);
      if (batch_symbols_.contains(name) &&
          stated->second != result_.batch_size) {
        return InvalidArgument(
            fmt::format("dimension {} is the batch, which is {}, not {}", name,
                        result_.batch_size, stated->second));
      }
      result_.symbols.emplace(name, stated->second);
      return stated->second;
    }
    if (place == 0 || batch_symbols_.contains(name)) return result_.batch_size;
    missing_.push_back(
        name.empty() ? fmt::format("{} of {}, which has no name", place, input)
                     : fmt::format("{} of {}", name, input));
    return 1;
  }

  const onnx::GraphProto& graph_;
  const OnnxImportOptions& options_;
  std::set<std::string> unused_;  // names of options.dims
  std::set<std::string> batch_symbols_;
  std::vector<std::string> missing_;
  ModelInputs result_;
};

}  // namespace

absl::StatusOr<ModelInputs> BindInputs(const onnx::GraphProto& graph,
                                       const OnnxImportOptions& options) {
  for (const auto& [name, value] : options.dims) {
    if (value < 1) {
      return InvalidArgument(fmt::format("dimension {} is {}", name, value));
    }
  }
  return Binder(graph, options).Bind();
}

}  // namespace spillway::onnx_model
