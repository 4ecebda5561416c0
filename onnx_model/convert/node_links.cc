#include "onnx_model/convert/node_links.h"

#include <algorithm>
#include <utility>

#include "onnx_model/file/constant.h"
#include "onnx_model/file/model_file.h"
#include "onnx_model/file/node_order.h"
#include "onnx_model/file/node_view.h"

namespace spillway::onnx_model {
namespace {

bool IsOf(const onnx::NodeProto& node, std::string_view op) {
  return node.op_type() == op && IsDefaultDomain(node.domain()) &&
         node.output_size() == 1;
}

// `reads`: how often the value itself may be read.
void AddFactors(const NodeLinks& links, const std::string& value, size_t reads,
                Product& product) {
  constexpr size_t kMostNodes = 8;
  if (const std::optional<double> number = links.Number(value)) {
    product.number *= *number;
    return;
  }
  if (product.nodes.size() < kMostNodes) {
    if (const auto* node = links.Maker(value, "Mul", reads);
        node != nullptr && node->input_size() == 2) {
      product.nodes.push_back(node);
      AddFactors(links, node->input(0), 1, product);
      AddFactors(links, node->input(1), 1, product);
      return;
    }
    if (const auto* node = links.Maker(value, "Div", reads);
        node != nullptr && node->input_size() == 2) {
      const std::optional<double> divisor = links.Number(node->input(1));
      if (divisor.has_value() && *divisor != 0) {
        product.nodes.push_back(node);
        product.number /= *divisor;
        AddFactors(links, node->input(0), 1, product);
        return;
      }
    }
  }
  product.factors.push_back(value);
}

}  // namespace

NodeLinks::NodeLinks(std::span<const onnx::NodeProto* const> nodes,
                     const onnx::GraphProto& graph) {
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    initializers_.emplace(tensor.name(), &tensor);
  }
  for (const onnx::NodeProto* node : nodes) {
    for (const std::string& read : ReadsOf(*node)) {
      readers_[read].push_back(node);
    }
    for (const std::string& output : node->output()) {
      makers_.emplace(output, node);
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    readers_[output.name()].push_back(nullptr);
  }
}

size_t NodeLinks::NumReads(const std::string& value) const {
  const auto found = readers_.find(value);
  return found == readers_.end() ? 0 : found->second.size();
}

const onnx::NodeProto* NodeLinks::Maker(const std::string& value,
                                        std::string_view op,
                                        size_t reads) const {
  const auto found = makers_.find(value);
  if (found == makers_.end() || NumReads(value) != reads) return nullptr;
  const onnx::NodeProto& node = *found->second;
  return IsOf(node, op) && node.input_size() > 0 ? &node : nullptr;
}

const onnx::NodeProto* NodeLinks::OnlyReader(const std::string& value,
                                             std::string_view op) const {
  const auto found = readers_.find(value);
  if (found == readers_.end() || found->second.size() != 1 ||
      found->second[0] == nullptr) {
    return nullptr;
  }
  return IsOf(*found->second[0], op) ? found->second[0] : nullptr;
}

std::optional<double> NodeLinks::Number(const std::string& value) const {
  const auto maker = makers_.find(value);
  if (maker != makers_.end() && IsOf(*maker->second, "Constant")) {
    const NodeView view(*maker->second, kNewestOpset);
    const auto real = view.Real("value_float", 0);
    if (view.has("value_float") && real.ok()) return *real;
  }
  const onnx::TensorProto* tensor = Tensor(value);
  if (tensor == nullptr ||
      tensor->data_location() == onnx::TensorProto::EXTERNAL ||
      std::ranges::any_of(tensor->dims(),
                          [](int64_t dim) { return dim != 1; })) {
    return std::nullopt;
  }
  const absl::StatusOr<Constant> constant = ReadConstant(*tensor, "");
  if (!constant.ok() || constant->size() != 1) return std::nullopt;
  return constant->is_real() ? constant->real(0)
                             : static_cast<double>(constant->integer(0));
}

std::optional<std::vector<int64_t>> NodeLinks::InitializerDims(
    std::string value) const {
  constexpr int kMostNodes = 4;
  for (int i = 0; i < kMostNodes; ++i) {
    const auto maker = makers_.find(value);
    if (maker == makers_.end() || !IsOf(*maker->second, "Identity") ||
        maker->second->input_size() != 1) {
      break;
    }
    value = maker->second->input(0);
  }
  const auto found = initializers_.find(value);
  if (found == initializers_.end()) return std::nullopt;
  return DimsOf(*found->second);
}

std::optional<std::vector<int64_t>> NodeLinks::MatrixDims(
    const std::string& value) const {
  const auto maker = makers_.find(value);
  const bool is_transposed = maker != makers_.end() &&
                             IsOf(*maker->second, "Transpose") &&
                             maker->second->input_size() == 1;
  auto dims = InitializerDims(is_transposed ? maker->second->input(0) : value);
  if (!dims.has_value() || dims->size() != 2) return std::nullopt;
  if (!is_transposed) return dims;
  const auto order = NodeView(*maker->second, kNewestOpset).Ints("perm");
  if (!order.ok()) return std::nullopt;
  if (order->value_or(std::vector<int64_t>{1, 0}) !=
      std::vector<int64_t>{1, 0}) {
    return std::nullopt;
  }
  std::swap(dims->at(0), dims->at(1));
  return dims;
}

const onnx::TensorProto* NodeLinks::Tensor(const std::string& value) const {
  const auto initializer = initializers_.find(value);
  if (initializer != initializers_.end()) return initializer->second;
  const auto maker = makers_.find(value);
  if (maker == makers_.end() || !IsOf(*maker->second, "Constant")) {
    return nullptr;
  }
  const auto tensor = NodeView(*maker->second, kNewestOpset).Tensor("value");
  return tensor.ok() ? *tensor : nullptr;
}

Product ProductOf(const NodeLinks& links, const std::string& value,
                  size_t reads) {
  Product product;
  AddFactors(links, value, reads, product);
  return product;
}

}  // namespace spillway::onnx_model
