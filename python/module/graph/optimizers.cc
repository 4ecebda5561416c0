#include "python/module/graph/optimizers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status_macros.h"
#include "pybind11/stl.h"
#include "python/module/graph/numpy_op.h"
#include "python/module/graph/step.h"
#include "python/module/options.h"
#include "python/module/status.h"
#include "training/loop/exchange_options.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

// The name of each optimizer's scope, as the program's flag has it.
struct ScopeName {
  std::string operator()(const Sgd&) const { return "sgd"; }
  std::string operator()(const Momentum&) const { return "momentum"; }
  std::string operator()(const Velocity&) const { return "velocity"; }
  std::string operator()(const Lars&) const { return "lars"; }
  std::string operator()(const AdaGrad&) const { return "adagrad"; }
  std::string operator()(const Adam&) const { return "adam"; }
  std::string operator()(const AdamW&) const { return "adamw"; }
  std::string operator()(const RmsProp&) const { return "rmsprop"; }
};

// "Momentum(learning_rate=0.1, momentum=0.9, use_nesterov=False)"
template <typename T>
std::string Describe(const T& optimizer, const std::vector<std::string>& names,
                     const char* class_name) {
  const py::object self = py::cast(optimizer);
  std::vector<std::string> settings;
  for (const std::string& name : names) {
    settings.push_back(
        fmt::format("{}={}", name,
                    std::string(py::str(py::repr(self.attr(name.c_str()))))));
  }
  return fmt::format("{}({})", class_name, fmt::join(settings, ", "));
}

// A class of Python for the optimizer T, with an argument for each member.
template <typename T, typename... Members>
void Bind(py::module_& module, const char* name, const char* documentation,
          std::pair<const char*, Members T::*>... members) {
  const T defaults;
  py::class_<T> type(module, name, documentation);
  type.def(py::init([=](Members... values) {
             T optimizer;
             ((optimizer.*(members.second) = values), ...);
             return optimizer;
           }),
           (py::arg(members.first) = defaults.*(members.second))...);
  (type.def_readonly(members.first, members.second), ...);
  type.def("__repr__", [=](const T& self) {
    return Describe(self, {members.first...}, name);
  });
}

template <typename T, typename Member>
std::pair<const char*, Member T::*> Of(const char* name, Member T::*member) {
  return {name, member};
}

Optimizer OptimizerFrom(py::handle value) {
  if (py::isinstance<py::str>(value)) {
    return ValueOrThrow(ParseOptimizer(py::cast<std::string>(value)));
  }
  try {
    return py::cast<Optimizer>(value);
  } catch (const py::cast_error&) {
    throw StatusError(InvalidArgument(
        fmt::format("{} is no optimizer: spillway.Sgd(0.1), or the name of one",
                    std::string(py::str(py::repr(value))))));
  }
}

Setters MinimizeSetters(MinimizeOptions& options) {
  const auto freeze = [&options](py::handle value) {
    for (const auto& name : py::cast<std::vector<std::string>>(value)) {
      options.multipliers.push_back({.name = name, .rate = 0});
    }
  };
  return {{"weight_decay", To(options.weight_decay)},
          {"clip_norm", To(options.clip_norm)},
          {"clip_value", To(options.clip_value)},
          {"loss_scale", To(options.loss_scale)},
          {"fused_update", To(options.fused_update)},
          {"freeze", freeze}};
}

std::function<void(py::handle)> ToCount(int64_t& place) {
  return [&place](py::handle value) {
    place = py::cast<int64_t>(value);
    if (place >= 1) return;
    throw StatusError(InvalidArgument(fmt::format("{} is below 1", place)));
  };
}

// Bytes from a number of MiB.
std::function<void(py::handle)> ToMegabytes(int64_t& bytes) {
  return [&bytes](py::handle value) {
    const auto megabytes = py::cast<double>(value);
    if (!(megabytes > 0 && megabytes <= 2048)) {
      throw StatusError(InvalidArgument(fmt::format(
          "{} is not a number of MiB above 0, up to 2048", megabytes)));
    }
    bytes = std::max<int64_t>(4, static_cast<int64_t>(megabytes * (1 << 20)));
  };
}

// What the program's flags of these names set (docs/workers.md).
Setters ExchangeSetters(ExchangeOptions& options) {
  const std::map<std::string, std::string> ways = {{"plain", "plain"},
                                                   {"half", "half"},
                                                   {"sparse", "sparse"},
                                                   {"partial", "partial"}};
  const std::map<std::string, std::optional<DType>> types = {
      {"fp16", DType::kFloat16}, {"bf16", DType::kBFloat16}};
  return {{"reduce",
           [&options, ways](py::handle value) {
             options.reduce = ChoiceOf(value, ways);
           }},
          {"wire",
           [&options, types](py::handle value) {
             options.wire = ChoiceOf(value, types);
           }},
          {"wire_scale", To(options.wire_scale)},
          {"clip_wire", To(options.clip_wire)},
          {"spars", To(options.spars)},
          {"topk", To(options.topk)},
          {"corr", To(options.corr)},
          {"sync_momentum", To(options.sync_momentum)},
          {"full_sync_every", To(options.full_sync_every)},
          {"bucket_mb", ToMegabytes(options.buckets.bytes)},
          {"first_bucket_mb", ToMegabytes(options.buckets.first_bytes)},
          {"bucket_elements", To(options.buckets.elements)}};
}

// Settings that belong to another way of exchange.
void CheckExchange(const py::kwargs& settings, const ExchangeOptions& options) {
  for (const auto& [setting, ways] : WaysOfExchangeSettings()) {
    if (!settings.contains(setting.c_str()) ||
        std::ranges::count(ways, options.reduce) > 0) {
      continue;
    }
    throw StatusError(InvalidArgument(
        fmt::format("{} applies to reduce='{}', not to '{}'", setting,
                    fmt::join(ways, "' and '"), options.reduce)));
  }
}

}  // namespace

void BindOptimizers(py::module_& module) {
  Bind(module, "Sgd", "w <- w - learning_rate * g",
       Of("learning_rate", &Sgd::learning_rate));
  Bind(module, "Momentum",
       "a <- momentum * a + g; w <- w - learning_rate * a, as in TensorFlow "
       "and PyTorch.",
       Of("learning_rate", &Momentum::learning_rate),
       Of("momentum", &Momentum::momentum),
       Of("use_nesterov", &Momentum::use_nesterov));
  Bind(module, "Velocity",
       "v <- momentum * v - learning_rate * g; w <- w + v, as in Caffe and "
       "Keras.",
       Of("learning_rate", &Velocity::learning_rate),
       Of("momentum", &Velocity::momentum),
       Of("use_nesterov", &Velocity::use_nesterov));
  Bind(module, "Lars",
       "Velocity with a rate for each variable (You, Gitman and Ginsburg, "
       "2017).",
       Of("learning_rate", &Lars::learning_rate),
       Of("momentum", &Lars::momentum), Of("eta", &Lars::eta),
       Of("epsilon", &Lars::epsilon));
  Bind(module, "AdaGrad",
       "c <- c + g^2; w <- w - learning_rate * g / (sqrt(c) + epsilon)",
       Of("learning_rate", &AdaGrad::learning_rate),
       Of("epsilon", &AdaGrad::epsilon));
  Bind(module, "Adam", "Kingma and Ba, 2015.",
       Of("learning_rate", &Adam::learning_rate), Of("beta1", &Adam::beta1),
       Of("beta2", &Adam::beta2), Of("epsilon", &Adam::epsilon));
  Bind(module, "AdamW",
       "Adam whose weight decay is not a part of the gradient (Loshchilov and "
       "Hutter, 2019).",
       Of("learning_rate", &AdamW::learning_rate), Of("beta1", &AdamW::beta1),
       Of("beta2", &AdamW::beta2), Of("epsilon", &AdamW::epsilon),
       Of("weight_decay", &AdamW::weight_decay));
  Bind(module, "RmsProp", "Tieleman and Hinton, 2012, in TensorFlow's form.",
       Of("learning_rate", &RmsProp::learning_rate),
       Of("decay", &RmsProp::decay), Of("momentum", &RmsProp::momentum),
       Of("epsilon", &RmsProp::epsilon));
}

MicroBatchPlan TrainingSettings::plan() const {
  const int64_t micro_batches = accumulate * SizeOf(workers);
  return StepTraining{.accumulate = accumulate, .workers = workers}.PlanFor(
      /*rows=*/micro_batches, /*batch_size=*/1);
}

TrainingSettings TrainingSettingsFrom(py::handle optimizer,
                                      const py::kwargs& settings) {
  TrainingSettings result;
  TrainingProgramsSpec& spec = result.spec;
  spec.optimizer = OptimizerFrom(optimizer);
  spec.scope = std::visit(ScopeName(), spec.optimizer) + "_optimizer";
  std::string passes = "auto";
  std::string device;
  ExchangeOptions exchange;
  Setters setters = MinimizeSetters(spec.minimize);
  setters.merge(
      Setters{{"feed_learning_rate", To(spec.feeds_learning_rate)},
              {"accumulate", ToCount(result.accumulate)},
              {"workers",
               [&](py::handle value) { result.workers = WorkersFrom(value); }},
              {"passes", To(passes)},
              {"device", To(device)}});
  setters.merge(ExchangeSetters(exchange));
  Apply(settings, setters);
  CheckExchange(settings, exchange);
  if (result.workers != nullptr) {
    if (device.empty()) device = result.workers->device;
    spec.worker = RankOf(CommunicatorOf(result.workers));
  }
  spec.buckets = exchange.buckets;
  spec.wire = WireOf(exchange);
  spec.sparse = SparseOf(exchange);
  spec.partial = PartialOf(exchange);
  spec.ops = &Ops();
  spec.passes = PassesFor(passes, device);
  return result;
}

}  // namespace spillway::python
