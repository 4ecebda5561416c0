// Gemm and MatMul: products of matrices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

// A matrix as a tensor, perhaps the transposed one.
struct Operand {
  Tensor tensor = {};
  bool is_transposed = false;
};

// The value [rows, columns] as a tensor of two dimensions in either order,
// without moving bytes if it lies in one of them.
Operand AsMatrix(const NameScope& scope, const Arranged& x) {
  if (!x.tensor.is_valid()) return {};
  const std::optional<int> rows = x.OnlyAxis(0);
  const std::optional<int> columns = x.OnlyAxis(1);
  const bool is_transposed =
      rows.has_value() && columns.has_value() && *rows > *columns;
  const Order order = is_transposed ? Order{1, 0} : Order{0, 1};
  return {.tensor = Ordered(scope, x, order), .is_transposed = is_transposed};
}

// Axes that the sum of a product runs over, in the order in which the left
// operand has them: [N, C H W] that lies as [N, H, W, C] has H W C, and the
// rows of a weight can be put in that order once and for all.
struct Terms {
  Sizes parts = {};  // of the dimension, outermost first
  Order order = {};  // in which the tensor has them
};

// Nullopt unless the terms are the last axes of the tensor.
std::optional<Terms> TermsOf(const Arranged& x, int dim) {
  const Shape shape = x.tensor.shape();
  std::vector<int> axes;
  for (const int axis : x.axes[static_cast<size_t>(dim)]) {
    if (shape.dim(axis) != 1) axes.push_back(axis);
  }
  int first = shape.rank();
  int64_t size = 1;
  while (first > 0 && size < x.dims.dim(dim)) size *= shape.dim(--first);
  if (size != x.dims.dim(dim) ||
      std::ranges::any_of(axes, [&](int axis) { return axis < first; })) {
    return std::nullopt;
  }
  Terms terms = {.order = Identity(static_cast<int>(axes.size()))};
  for (const int axis : axes) terms.parts.push_back(shape.dim(axis));
  std::ranges::sort(terms.order, {},
                    [&](int part) { return axes[static_cast<size_t>(part)]; });
  return terms;
}

// The right operand, a weight [terms, columns] (or transposed), with its terms
// in the order of the left one.
absl::StatusOr<Operand> MatchingWeight(NodeConversion& node, int input,
                                       bool is_transposed, const Terms& terms) {
  const Sizes& dims = node.dims(input);
  const auto parts = static_cast<int>(terms.parts.size());
  WeightOrder order;
  if (is_transposed) {
    order = {.parts = {{dims[0]}, terms.parts}, .order = {0}};
    for (const int part : terms.order) order.order.push_back(part + 1);
  } else {
    order = {.parts = {terms.parts, {dims[1]}}, .order = terms.order};
    order.order.push_back(parts);
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged weight,
                            node.BoundWeight(input, order));
  Sizes shape = {dims[0], dims[1]};
  const Tensor matrix =
      weight.tensor.shape().dims() == shape
          ? weight.tensor
          : node.Helper("Reshape", {weight.tensor}, {{"shape", shape}});
  return Operand{.tensor = matrix, .is_transposed = is_transposed};
}

// Whether `input` can be a variable whose rows follow the left operand.
bool CanFollow(const NodeConversion& node, int input) {
  return IsFloating(node.type(input)) &&
         (node.IsWeight(input) ||
          (node.IsConstant(input) && !node.value(input).arranged.has_value()));
}

// `x` without the axes of its last dimension, which becomes one axis of `size`
// at the end: how the product of `x` and a matrix lies.
Arranged WithLastDim(NodeConversion& node, const Arranged& x, int64_t size,
                     Tensor product) {
  const std::vector<int>& replaced = x.axes.back();
  std::vector<int> new_axis;  // of each axis that stays
  Sizes shape;
  const Shape old_shape = x.tensor.shape();
  for (int axis = 0; axis < old_shape.rank(); ++axis) {
    const bool stays = std::ranges::find(replaced, axis) == replaced.end();
    new_axis.push_back(static_cast<int>(shape.size()));
    if (stays) shape.push_back(old_shape.dim(axis));
  }
  Arranged result = {.axes = x.axes};
  for (std::vector<int>& axes : result.axes) {
    for (int& axis : axes) axis = new_axis[static_cast<size_t>(axis)];
  }
  result.axes.back() = {static_cast<int>(shape.size())};
  shape.push_back(size);
  Sizes dims = x.dims.dims();
  dims.back() = size;
  result.dims = Shape(dims);
  result.tensor = product;
  if (product.is_valid() && product.shape().dims() != shape) {
    result.tensor = node.Helper("Reshape", {product}, {{"shape", shape}});
  }
  return result;
}

// The right operand; may put the terms of `x` in another order for it.
absl::StatusOr<Operand> RightOperand(NodeConversion& node, int input,
                                     bool is_transposed, Arranged& x) {
  const int last = x.rank() - 1;
  const bool follows = CanFollow(node, input);
  std::optional<Terms> terms = TermsOf(x, last);
  if (!terms.has_value() || (!follows && terms->parts.size() > 1)) {
    x = AsIs(Ordered(node.scope(), x, Identity(x.rank())));
    terms = TermsOf(x, last);
  }
  if (follows) return MatchingWeight(node, input, is_transposed, *terms);
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged arranged, node.Input(input));
  Operand operand = AsMatrix(node.scope(), arranged);
  operand.is_transposed ^= is_transposed;
  return operand;
}

// x [.., terms] times the matrix of `input`, plus the vector of input `bias`
// unless that is 0.
absl::StatusOr<Arranged> Multiply(NodeConversion& node, Arranged x, int input,
                                  bool transposes_right, int bias = 0) {
  const int64_t terms = x.dims.dim(-1);
  const Sizes& right = node.dims(input);
  if (right[transposes_right ? 1 : 0] != terms) {
    return InvalidArgument(fmt::format(
        "its inputs are {} and {}{}", x.dims.ToString(),
        Shape(right).ToString(), transposes_right ? " transposed" : ""));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Operand matrix,
                            RightOperand(node, input, transposes_right, x));
  Tensor rows = x.tensor;
  const Sizes shape = {x.dims.num_elements() / terms, terms};
  if (rows.shape().dims() != shape) {
    rows = node.Helper("Reshape", {rows}, {{"shape", shape}});
  }
  Attributes attributes;
  if (matrix.is_transposed) attributes.Set("transpose_b", true);
  Tensor y = node.Add("MatMul", {rows, matrix.tensor}, attributes);
  if (bias != 0) {
    SPILLWAY_ASSIGN_OR_RETURN(const Tensor vector,
                              node.WeightInOrder(bias, {0}));
    y = node.Helper("BiasAdd", {y, vector});
  }
  return WithLastDim(node, x, right[transposes_right ? 0 : 1], y);
}

absl::Status CheckMatrix(const NodeConversion& node, int input) {
  if (node.rank(input) == 2) return absl::OkStatus();
  return InvalidArgument(fmt::format("its input {} is {}, not a matrix", input,
                                     Shape(node.dims(input)).ToString()));
}

// y + beta C.
absl::StatusOr<Tensor> AddC(NodeConversion& node, const Arranged& y,
                            double beta) {
  const Sizes& dims = node.dims(2);
  const int64_t elements = std::accumulate(dims.begin(), dims.end(), int64_t{1},
                                           std::multiplies<>());
  const bool is_vector =
      !dims.empty() && dims.back() == elements && elements == y.dims.dim(1);
  if (!is_vector && elements != 1 && Shape(dims) != y.dims) {
    return Unimplemented(fmt::format(
        "C {} of a product {}", Shape(dims).ToString(), y.dims.ToString()));
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      Tensor c, node.WeightInOrder(2, Identity(static_cast<int>(dims.size()))));
  if (is_vector && dims.size() > 1) {
    c = node.Helper("Reshape", {c}, {{"shape", Sizes{elements}}});
  }
  if (!is_vector && elements == 1 && !dims.empty()) {
    c = node.Helper("Reshape", {c}, {{"shape", Sizes{}}});
  }
  if (beta != 1) c = node.Helper("Mul", {c, node.Number(beta, c)});
  const Tensor product =
      is_vector ? y.tensor : Ordered(node.scope(), y, Identity(2));
  if (is_vector) return node.Helper("BiasAdd", {product, c});
  if (c.dtype() != product.dtype()) {
    c = node.Helper("Cast", {c}, {{"dtype", product.dtype()}});
  }
  return node.Helper("Add", {product, c});
}

absl::Status ConvertGemm(NodeConversion& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckMatrix(node, 0));
  SPILLWAY_RETURN_IF_ERROR(CheckMatrix(node, 1));
  SPILLWAY_ASSIGN_OR_RETURN(const double alpha, node.node().Real("alpha", 1));
  SPILLWAY_ASSIGN_OR_RETURN(const double beta, node.node().Real("beta", 1));
  SPILLWAY_ASSIGN_OR_RETURN(const bool transposes_a,
                            node.node().Bool("transA", false));
  SPILLWAY_ASSIGN_OR_RETURN(const bool transposes_b,
                            node.node().Bool("transB", false));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  if (transposes_a) x = Permute(x, {1, 0});
  SPILLWAY_ASSIGN_OR_RETURN(Arranged y, Multiply(node, x, 1, transposes_b));
  if (alpha != 1) {
    y.tensor = node.Helper("Mul", {y.tensor, node.Number(alpha, y.tensor)});
  }
  if (node.has(2) && y.tensor.is_valid()) {
    SPILLWAY_ASSIGN_OR_RETURN(y.tensor, AddC(node, y, beta));
  }
  node.Set(0, y);
  return absl::OkStatus();
}

// Dimensions before the last two.
Sizes BatchOf(const Arranged& x) {
  Sizes dims = x.dims.dims();
  dims.resize(dims.size() - 2);
  return dims;
}

bool HasOneMatrix(const Arranged& x) { return CountOf(BatchOf(x)) == 1; }

// `x` with its batch repeated to `batch`.
Arranged WithBatch(NodeConversion& node, const Arranged& x,
                   const Sizes& batch) {
  if (BatchOf(x) == batch) return x;
  Sizes dims = batch;
  dims.push_back(x.dims.dim(-2));
  dims.push_back(x.dims.dim(-1));
  const Tensor ordered = Ordered(node.scope(), x, Identity(x.rank()));
  return AsIs(node.Helper("BroadcastTo", {ordered}, {{"shape", Shape(dims)}}));
}

// Matrices as they lie, perhaps each of them transposed.
Operand AsMatrices(NodeConversion& node, const Arranged& x) {
  Order swapped = Identity(x.rank());
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  const bool is_transposed =
      !LiesIn(x, Identity(x.rank())) && LiesIn(x, swapped);
  const Order order = is_transposed ? swapped : Identity(x.rank());
  return {.tensor = Ordered(node.scope(), x, order),
          .is_transposed = is_transposed};
}

// Products of matrices of a batch, by NumPy's rules.
absl::StatusOr<Arranged> MultiplyBatches(NodeConversion& node, Arranged a,
                                         Arranged b) {
  const int rank = std::max(a.rank(), b.rank());
  a = RaiseRank(a, rank);
  b = RaiseRank(b, rank);
  Sizes batch(static_cast<size_t>(rank) - 2);
  for (size_t i = 0; i < batch.size(); ++i) {
    const int64_t of_a = a.dims.dims()[i];
    const int64_t of_b = b.dims.dims()[i];
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      return InvalidArgument(fmt::format("its inputs are {} and {}",
                                         a.dims.ToString(), b.dims.ToString()));
    }
    batch[i] = std::max(of_a, of_b);
  }
  if (!HasOneMatrix(a)) a = WithBatch(node, a, batch);
  if (!HasOneMatrix(b)) b = WithBatch(node, b, batch);
  if (!a.tensor.is_valid() || !b.tensor.is_valid()) return a;
  const Operand left = AsMatrices(node, a);
  const Operand right = AsMatrices(node, b);
  Attributes attributes;
  if (left.is_transposed) attributes.Set("transpose_a", true);
  if (right.is_transposed) attributes.Set("transpose_b", true);
  Tensor x = left.tensor;
  Tensor y = right.tensor;
  if (x.dtype() != y.dtype()) {
    const DType dtype = node.state().options().dtype;
    if (x.dtype() != dtype) x = node.Helper("Cast", {x}, {{"dtype", dtype}});
    if (y.dtype() != dtype) y = node.Helper("Cast", {y}, {{"dtype", dtype}});
  }
  Sizes dims = batch;
  dims.push_back(a.dims.dim(-2));
  dims.push_back(b.dims.dim(-1));
  const Tensor product = node.Add("BatchMatMul", {x, y}, attributes);
  if (!product.is_valid()) return Arranged{};
  return Reshaped(node.scope(), AsIs(product), Shape(dims));
}

// A vector is a row on the left and a column on the right; that dimension is
// not in the result.
absl::Status ConvertMatMul(NodeConversion& node) {
  if (node.rank(0) == 0 || node.rank(1) == 0) {
    return InvalidArgument("has an input that is a number");
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged a, node.Input(0));
  if (node.rank(0) >= 2 && node.rank(1) == 2) {
    if (!a.tensor.is_valid()) return absl::OkStatus();
    SPILLWAY_ASSIGN_OR_RETURN(const Arranged y, Multiply(node, a, 1, false));
    node.Set(0, y);
    return absl::OkStatus();
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged b, node.Input(1));
  if (!a.tensor.is_valid() || !b.tensor.is_valid()) return absl::OkStatus();
  const NameScope scope = node.scope();
  if (a.rank() == 1) a = Reshaped(scope, a, Shape({1, a.dims.dim(0)}));
  if (b.rank() == 1) b = Reshaped(scope, b, Shape({b.dims.dim(0), 1}));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged y, MultiplyBatches(node, a, b));
  if (!y.tensor.is_valid()) return absl::OkStatus();
  Sizes dims = y.dims.dims();
  if (node.rank(1) == 1) dims.pop_back();
  if (node.rank(0) == 1) {
    dims.erase(dims.end() - (node.rank(1) == 1 ? 1 : 2));
  }
  node.Set(0, Reshaped(scope, y, Shape(dims)));
  return absl::OkStatus();
}

// What FuseDecomposed makes of a MatMul by a matrix and an Add of a vector:
// they meet while the product still has two dimensions.
absl::Status ConvertMatMulBias(NodeConversion& node) {
  if (node.rank(0) == 0 || node.rank(1) != 2 || node.rank(2) != 1 ||
      node.dims(2)[0] != node.dims(1)[1]) {
    return InvalidArgument("has inputs that do not fit");
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  const bool is_vector = x.rank() == 1;
  if (is_vector) x = Reshaped(node.scope(), x, Shape({1, x.dims.dim(0)}));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged y, Multiply(node, x, 1, false, 2));
  if (!y.tensor.is_valid()) return absl::OkStatus();
  if (is_vector) y = Reshaped(node.scope(), y, Shape({y.dims.dim(1)}));
  node.Set(0, y);
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 3> kLinearOps = {{
    {"Gemm", 2, 3, ConvertGemm},
    {"MatMul", 2, 2, ConvertMatMul},
    {"MatMulBias", 3, 3, ConvertMatMulBias},
}};

}  // namespace

std::span<const OpEntry> LinearOps() { return kLinearOps; }

}  // namespace spillway::onnx_model
