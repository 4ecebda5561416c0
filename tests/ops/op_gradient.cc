#include "tests/ops/op_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "base/status_macros.h"
#include "graph/builder/builder.h"
#include "graph/builder/gradient.h"
#include "graph/input_groups.h"
#include "ops/all_ops.h"
#include "tests/ops/cases/run_op_case.h"
#include "tests/support/eval_graph.h"

namespace spillway::testing {
namespace {

// w_k: normally distributed, rounded to y_k's dtype.
Doubles LossWeights(const OpCase& op_case, int output) {
  const TensorType& type = op_case.outputs[static_cast<size_t>(output)];
  const uint64_t key = MixKeys(HashName("loss"), static_cast<uint64_t>(output));
  Doubles weights(static_cast<size_t>(type.num_elements()));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = NormalAt(key, i);
  return ToDoubles(FromDoubles(type, weights));
}

// The case as a graph with a scalar loss.
class LossGraph {
 public:
  explicit LossGraph(const OpCase& op_case)
      : op_case_(op_case), builder_(StandardOps()) {
    const std::vector<HostTensor> inputs = MakeInputs(op_case);
    for (size_t i = 0; i < inputs.size(); ++i) AddInput(i, inputs[i]);
    outputs_ = builder_.AddAll(builder_, {.op = op_case.op,
                                          .inputs = inputs_,
                                          .attributes = op_case.attributes});
  }

  absl::StatusOr<DoublesList> Gradients() && {
    SPILLWAY_RETURN_IF_ERROR(builder_.status());
    const Tensor loss = AddLoss();
    std::vector<Tensor> xs;
    for (const int i : op_case_.gradients) {
      xs.push_back(inputs_[static_cast<size_t>(i)]);
    }
    std::vector<ValueId> fetches;
    for (const Tensor dx :
         AddGradients(builder_.Scope("gradients"), loss, xs)) {
      fetches.push_back(dx.id());
    }
    SPILLWAY_ASSIGN_OR_RETURN(const Graph graph, std::move(builder_).Build());
    SPILLWAY_ASSIGN_OR_RETURN(const auto fetched,
                              EvalGraph(graph, feeds_, fetches, state_));
    DoublesList gradients;
    for (const ValueId id : fetches) {
      gradients.push_back(ToDoubles(fetched.at(id)));
    }
    return gradients;
  }

 private:
  // Adds a variable if the op overwrites the input, else a feed.
  void AddInput(size_t i, const HostTensor& value) {
    const std::vector<int> mutates =
        MutatedInputs(*StandardOps().Find(op_case_.op), op_case_.inputs.size());
    const std::string name = fmt::format("input{}", i);
    if (std::ranges::find(mutates, static_cast<int>(i)) != mutates.end()) {
      inputs_.push_back(
          builder_.Add(builder_, {.op = "Variable",
                                  .attributes = {{"dtype", value.type.dtype},
                                                 {"shape", value.type.shape}},
                                  .name = name}));
      state_.variables[name] = value;
    } else {
      inputs_.push_back(
          builder_.Placeholder(name, value.type.dtype, value.type.shape));
      feeds_[inputs_.back().id()] = value;
    }
  }

  Tensor AddLoss() {
    std::vector<Tensor> terms;
    for (const int k : op_case_.gradient_outputs) {
      const TensorType type =
          Float32(op_case_.outputs[static_cast<size_t>(k)].shape);
      const Tensor weights = builder_.Placeholder(fmt::format("weights{}", k),
                                                  type.dtype, type.shape);
      feeds_[weights.id()] = FromDoubles(type, LossWeights(op_case_, k));
      std::vector<int64_t> axes(static_cast<size_t>(type.shape.rank()));
      std::iota(axes.begin(), axes.end(), 0);
      const Tensor product = builder_.Add(
          builder_,
          {.op = "Mul",
           .inputs = {InFloat32(outputs_[static_cast<size_t>(k)]), weights}});
      terms.push_back(builder_.Add(
          builder_,
          {.op = "Sum", .inputs = {product}, .attributes = {{"axes", axes}}}));
    }
    return builder_.Add(builder_, {.op = "AddN", .inputs = terms});
  }

  Tensor InFloat32(Tensor y) {
    const DType dtype = DType::kFloat32;
    if (y.type().dtype == dtype) return y;
    return builder_.Add(
        builder_,
        {.op = "Cast", .inputs = {y}, .attributes = {{"dtype", dtype}}});
  }

  const OpCase& op_case_;
  GraphBuilder builder_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::map<ValueId, HostTensor> feeds_;
  EvalState state_ = {.seed = kCaseSeed, .step = kCaseStep, .threads = 2};
};

}  // namespace

absl::StatusOr<DoublesList> GraphGradients(const OpCase& op_case) {
  return LossGraph(op_case).Gradients();
}

ReferenceGradient::ReferenceGradient(const OpCase& op_case)
    : op_case_(op_case) {
  for (const HostTensor& x : MakeInputs(op_case)) {
    inputs_.push_back(ToDoubles(x));
  }
  for (const int k : op_case.gradient_outputs) {
    weights_.push_back(LossWeights(op_case, k));
  }
}

double ReferenceGradient::At(int input, size_t element) {
  double& x = inputs_[static_cast<size_t>(input)][element];
  const double at = x;
  x = at + op_case_.gradient_step;
  const double above = Loss();
  x = at - op_case_.gradient_step;
  const double below = Loss();
  x = at;
  return (above - below) / (2 * op_case_.gradient_step);
}

double ReferenceGradient::Loss() const {
  const DoublesList outputs = op_case_.reference(inputs_);
  double loss = 0;
  for (size_t k = 0; k < weights_.size(); ++k) {
    const auto output = static_cast<size_t>(op_case_.gradient_outputs[k]);
    const Doubles& y = outputs[output];
    loss = std::inner_product(y.begin(), y.end(), weights_[k].begin(), loss);
  }
  return loss;
}

}  // namespace spillway::testing
