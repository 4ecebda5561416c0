#include "onnx_model/convert/fuse_decomposed.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "onnx_model/convert/node_links.h"
#include "onnx_model/file/model_file.h"
#include "onnx_model/file/node_view.h"

namespace spillway::onnx_model {
namespace {

// Constants in files are rounded.
bool IsAbout(double value, double expected) {
  return std::abs(value - expected) <= 1e-4 * std::abs(expected);
}

// A chain that was found, and the node that stands for it.
struct Chain {
  std::vector<const onnx::NodeProto*> nodes = {};
  onnx::NodeProto node = {};
};

void SetNode(const onnx::NodeProto& like, const std::string& op, Chain& chain) {
  chain.node.set_op_type(op);
  const std::string& name = like.name();
  const size_t slash = name.rfind('/');
  if (slash != std::string::npos) {
    chain.node.set_name(name.substr(0, slash + 1) + op);
  }
}

onnx::AttributeProto& AddAttribute(onnx::NodeProto& node, const char* name,
                                   onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

class Fuser {
 public:
  explicit Fuser(const NodeLinks& links) : links_(links) {}

  // The chain that ends, but for scale and offset, in this node.
  std::optional<Chain> Find(const onnx::NodeProto& node) {
    if (!IsDefaultDomain(node.domain()) || node.output_size() != 1 ||
        node.input_size() != 2) {
      return std::nullopt;
    }
    if (node.op_type() == "Div") return LayerNorm(node);
    if (node.op_type() == "Add") return ProductPlusVector(node);
    if (node.op_type() != "Mul") return std::nullopt;
    return Activation(node);
  }

 private:
  // Adds a node of the chain. False if there is none.
  static bool Take(const onnx::NodeProto* node, Chain& chain) {
    if (node == nullptr) return false;
    chain.nodes.push_back(node);
    return true;
  }

  // value = other + number: the other operand.
  std::optional<std::string> PlusNumber(const std::string& value, double number,
                                        double& found, Chain& chain) {
    const onnx::NodeProto* add = links_.Maker(value, "Add");
    if (add == nullptr || add->input_size() != 2) return std::nullopt;
    for (const int i : {0, 1}) {
      const std::optional<double> operand = links_.Number(add->input(i));
      if (!operand.has_value()) continue;
      if (number != 0 && !IsAbout(*operand, number)) continue;
      found = *operand;
      chain.nodes.push_back(add);
      return add->input(1 - i);
    }
    return std::nullopt;
  }

  std::optional<std::string> PlusOne(const std::string& value, Chain& chain) {
    double one = 0;
    return PlusNumber(value, 1, one, chain);
  }

  // The axes of a mean that keeps its dimensions: the last `count`, counted
  // from the end.
  std::optional<int64_t> LastAxes(const onnx::NodeProto& mean) {
    const NodeView view(mean, kNewestOpset);
    if (view.Int("keepdims", 1).value_or(0) != 1) return std::nullopt;
    std::vector<int64_t> axes;
    if (view.has("axes")) {
      axes = view.Ints("axes").value_or(std::nullopt).value_or(axes);
    } else if (view.num_inputs() == 2 && view.has_input(1)) {
      const std::optional<double> axis = links_.Number(view.input(1));
      if (axis.has_value()) axes = {static_cast<int64_t>(*axis)};
    }
    std::ranges::sort(axes, std::greater());
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != -1 - static_cast<int64_t>(i)) return std::nullopt;
    }
    if (axes.empty()) return std::nullopt;
    return static_cast<int64_t>(axes.size());
  }

  // Whether value = distance^2.
  bool IsSquare(const std::string& value, const std::string& distance,
                size_t& reads, Chain& chain) {
    if (const auto* power = links_.Maker(value, "Pow")) {
      reads = 1;
      return power->input_size() == 2 && power->input(0) == distance &&
             links_.Number(power->input(1)) == 2.0 && Take(power, chain);
    }
    const auto* product = links_.Maker(value, "Mul");
    reads = 2;
    return product != nullptr && product->input_size() == 2 &&
           product->input(0) == distance && product->input(1) == distance &&
           Take(product, chain);
  }

  // (x - mean) / sqrt(mean of (x - mean)^2 + epsilon) * scale [+ offset]
  std::optional<Chain> LayerNorm(const onnx::NodeProto& division) {
    Chain chain;
    chain.nodes = {&division};
    const std::string& distance = division.input(0);
    const auto* root = links_.Maker(division.input(1), "Sqrt");
    if (root == nullptr || !Take(root, chain)) return std::nullopt;
    double epsilon = 0;
    const std::optional<std::string> variance =
        PlusNumber(root->input(0), 0, epsilon, chain);
    if (!variance.has_value() || !(epsilon > 0)) return std::nullopt;
    const auto* second = links_.Maker(*variance, "ReduceMean");
    size_t reads = 0;
    if (!Take(second, chain) ||
        !IsSquare(second->input(0), distance, reads, chain)) {
      return std::nullopt;
    }
    const auto* sub = links_.Maker(distance, "Sub", reads + 1);
    if (!Take(sub, chain) || sub->input_size() != 2) return std::nullopt;
    const std::string& x = sub->input(0);
    const auto* mean = links_.Maker(sub->input(1), "ReduceMean");
    if (!Take(mean, chain) || mean->input(0) != x) return std::nullopt;
    const std::optional<int64_t> axes = LastAxes(*mean);
    if (!axes.has_value() || LastAxes(*second) != axes) return std::nullopt;

    const std::optional<std::string> scale =
        Affine(division.output(0), "Mul", *axes, chain);
    if (!scale.has_value()) return std::nullopt;
    const std::optional<std::string> offset =
        Affine(chain.nodes.back()->output(0), "Add", *axes, chain);

    SetNode(division, "LayerNormalization", chain);
    chain.node.add_input(x);
    chain.node.add_input(*scale);
    if (offset.has_value()) chain.node.add_input(*offset);
    chain.node.add_output(chain.nodes.back()->output(0));
    AddAttribute(chain.node, "axis", onnx::AttributeProto::INT).set_i(-*axes);
    AddAttribute(chain.node, "epsilon", onnx::AttributeProto::FLOAT)
        .set_f(static_cast<float>(epsilon));
    return chain;
  }

  // The initializer of `rank` dimensions in the only node that reads the value.
  std::optional<std::string> Affine(const std::string& value,
                                    std::string_view op, int64_t rank,
                                    Chain& chain) {
    const onnx::NodeProto* node = links_.OnlyReader(value, op);
    if (node == nullptr || node->input_size() != 2) return std::nullopt;
    const int operand = node->input(0) == value ? 1 : 0;
    if (node->input(1 - operand) != value) return std::nullopt;
    const auto dims = links_.InitializerDims(node->input(operand));
    if (!dims.has_value() || static_cast<int64_t>(dims->size()) != rank) {
      return std::nullopt;
    }
    chain.nodes.push_back(node);
    return node->input(operand);
  }

  // A product that ends in this node.
  std::optional<Chain> Activation(const onnx::NodeProto& last) {
    const Product product =
        ProductOf(links_, last.output(0), links_.NumReads(last.output(0)));
    if (product.factors.size() != 2) return std::nullopt;
    for (const int i : {0, 1}) {
      const std::string& x = product.factors[static_cast<size_t>(i)];
      const std::string& gate = product.factors[static_cast<size_t>(1 - i)];
      Chain chain;
      chain.nodes = product.nodes;
      if (IsAbout(product.number, 0.5) && IsGaussian(x, gate, chain)) {
        return Finish(last, x, "Gelu", std::move(chain));
      }
      chain.nodes = product.nodes;
      if (IsAbout(product.number, 0.5) && IsTanhOfCube(x, gate, chain)) {
        AddAttribute(chain.node, "approximate", onnx::AttributeProto::STRING)
            .set_s("tanh");
        return Finish(last, x, "Gelu", std::move(chain));
      }
      chain.nodes = product.nodes;
      const std::string op =
          product.number == 1 ? GatedBy(x, gate, chain) : std::string();
      if (!op.empty()) return Finish(last, x, op, std::move(chain));
    }
    return std::nullopt;
  }

  // The function x gate(x) that has this gate; "" if there is none.
  std::string GatedBy(const std::string& x, const std::string& gate,
                      Chain& chain) {
    const auto* sigmoid = links_.Maker(gate, "Sigmoid");
    if (sigmoid != nullptr && sigmoid->input(0) == x && Take(sigmoid, chain)) {
      return "Swish";
    }
    const auto* hard = links_.Maker(gate, "HardSigmoid");
    if (hard != nullptr && hard->input(0) == x && Take(hard, chain)) {
      const NodeView view(*hard, kNewestOpset);
      const bool is_standard =
          IsAbout(view.Real("alpha", 0.2).value_or(0), 1.0 / 6) &&
          view.Real("beta", 0.5).value_or(0) == 0.5;
      return is_standard ? "HardSwish" : "";
    }
    const auto* tanh = links_.Maker(gate, "Tanh");
    if (tanh == nullptr || !Take(tanh, chain)) return "";
    const auto* softplus = links_.Maker(tanh->input(0), "Softplus");
    const bool is_mish =
        softplus != nullptr && softplus->input(0) == x && Take(softplus, chain);
    return is_mish ? "Mish" : "";
  }

  // x times a matrix [.., N], plus a vector [N].
  std::optional<Chain> ProductPlusVector(const onnx::NodeProto& add) {
    for (const int i : {0, 1}) {
      const auto* product = links_.Maker(add.input(i), "MatMul");
      if (product == nullptr || product->input_size() != 2) continue;
      const auto vector = links_.InitializerDims(add.input(1 - i));
      const auto matrix = links_.MatrixDims(product->input(1));
      if (!vector.has_value() || vector->size() != 1 || !matrix.has_value() ||
          vector->at(0) != matrix->at(1)) {
        continue;
      }
      Chain chain;
      chain.nodes = {product, &add};
      chain.node.set_op_type("MatMulBias");
      chain.node.set_name(product->name());
      chain.node.add_input(product->input(0));
      chain.node.add_input(product->input(1));
      chain.node.add_input(add.input(1 - i));
      chain.node.add_output(add.output(0));
      return chain;
    }
    return std::nullopt;
  }

  static Chain Finish(const onnx::NodeProto& last, const std::string& x,
                      const std::string& op, Chain chain) {
    SetNode(last, op, chain);
    chain.node.add_input(x);
    chain.node.add_output(last.output(0));
    return chain;
  }

  void TakeAll(const Product& product, Chain& chain) {
    chain.nodes.insert(chain.nodes.end(), product.nodes.begin(),
                       product.nodes.end());
  }

  // gate = 1 + erf(x / sqrt 2)
  bool IsGaussian(const std::string& x, const std::string& gate, Chain& chain) {
    const std::optional<std::string> inner = PlusOne(gate, chain);
    if (!inner.has_value()) return false;
    const auto* erf = links_.Maker(*inner, "Erf");
    if (!Take(erf, chain)) return false;
    const Product product = ProductOf(links_, erf->input(0));
    TakeAll(product, chain);
    return product.factors == std::vector{x} &&
           IsAbout(product.number, 1 / std::numbers::sqrt2);
  }

  // gate = 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)), where the sum may be x (1
  // + 0.044715 x^2).
  bool IsTanhOfCube(const std::string& x, const std::string& gate,
                    Chain& chain) {
    const std::optional<std::string> inner = PlusOne(gate, chain);
    if (!inner.has_value()) return false;
    const auto* tanh = links_.Maker(*inner, "Tanh");
    if (!Take(tanh, chain)) return false;
    const Product product = ProductOf(links_, tanh->input(0));
    TakeAll(product, chain);
    if (!IsAbout(product.number, std::sqrt(2 / std::numbers::pi))) return false;
    if (product.factors.size() == 1) {
      const auto* sum = links_.Maker(product.factors[0], "Add");
      if (!Take(sum, chain) || sum->input_size() != 2) return false;
      const int power = sum->input(0) == x ? 1 : 0;
      return sum->input(1 - power) == x &&
             IsPower(sum->input(power), x, 3, chain);
    }
    if (product.factors.size() != 2) return false;
    const size_t other = product.factors[0] == x ? 1 : 0;
    if (product.factors[1 - other] != x) return false;
    const std::optional<std::string> square =
        PlusOne(product.factors[other], chain);
    return square.has_value() && IsPower(*square, x, 2, chain);
  }

  // value = 0.044715 x^exponent
  bool IsPower(const std::string& value, const std::string& x, size_t exponent,
               Chain& chain) {
    const Product product = ProductOf(links_, value);
    TakeAll(product, chain);
    if (!IsAbout(product.number, 0.044715)) return false;
    if (product.factors.size() == exponent) {
      return std::ranges::count(product.factors, x) ==
             static_cast<int64_t>(exponent);
    }
    if (product.factors.size() != 1) return false;
    const auto* power = links_.Maker(product.factors[0], "Pow");
    return Take(power, chain) && power->input_size() == 2 &&
           power->input(0) == x &&
           links_.Number(power->input(1)) == static_cast<double>(exponent);
  }

  const NodeLinks& links_;
};

}  // namespace

FusedNodes FuseDecomposed(std::span<const onnx::NodeProto* const> nodes,
                          const onnx::GraphProto& graph) {
  const NodeLinks links(nodes, graph);
  Fuser fuser(links);
  FusedNodes result;
  std::set<const onnx::NodeProto*> taken;
  // By the last node of a chain. From the end, so that a product is taken as a
  // whole.
  std::map<const onnx::NodeProto*, const onnx::NodeProto*> made_at;
  std::unordered_map<const onnx::NodeProto*, size_t> places;
  for (size_t i = 0; i < nodes.size(); ++i) places.emplace(nodes[i], i);
  for (size_t i = nodes.size(); i-- > 0;) {
    std::optional<Chain> chain = fuser.Find(*nodes[i]);
    if (!chain.has_value() ||
        std::ranges::any_of(chain->nodes, [&](const onnx::NodeProto* node) {
          return taken.contains(node);
        })) {
      continue;
    }
    taken.insert(chain->nodes.begin(), chain->nodes.end());
    const auto* last = *std::ranges::max_element(
        chain->nodes, {},
        [&](const onnx::NodeProto* node) { return places.at(node); });
    result.num_fused += static_cast<int64_t>(chain->nodes.size());
    made_at.emplace(last, &result.made.emplace_back(std::move(chain->node)));
  }
  for (const onnx::NodeProto* node : nodes) {
    const auto made = made_at.find(node);
    if (made != made_at.end()) {
      result.nodes.push_back(made->second);
    } else if (!taken.contains(node)) {
      result.nodes.push_back(node);
    }
  }
  return result;
}

}  // namespace spillway::onnx_model
