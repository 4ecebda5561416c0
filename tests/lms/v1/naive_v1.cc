#include "tests/lms/v1/naive_v1.h"

#include <algorithm>
#include <utility>

namespace spillway::testing {
namespace {

using Ops = std::set<int>;

struct Tensor {
  int op = 0;
  int index = 0;
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

struct Op {
  std::string name = {};
  std::string type = {};
  std::vector<Tensor> inputs = {};
  Ops controls = {};
  int num_outputs = 0;
};

Ops UnionOf(Ops a, const Ops& b) {
  a.insert(b.begin(), b.end());
  return a;
}
Ops Without(Ops a, const Ops& b) {
  for (const int op : b) a.erase(op);
  return a;
}
Ops And(const Ops& a, const Ops& b) { return Without(a, Without(a, b)); }

class Original {
 public:
  Original(const LmsOptions& options, const Graph& graph) : options_(options) {
    for (const Node& node : graph.nodes()) {
      Op op = {.name = node.name, .type = node.op};
      for (const ValueId input : node.inputs) {
        op.inputs.push_back(
            {graph.value(input).producer.value(), graph.value(input).index});
      }
      for (const NodeId before : node.control_inputs) {
        op.controls.insert(before.value());
      }
      op.num_outputs = static_cast<int>(node.outputs.size());
      ops_.push_back(std::move(op));
    }
  }

  NaiveEdit Run() {
    for (const std::string& scope : options_.v1.optimizer_scopes) {
      gradient_ = UnionOf(gradient_, StartingWith(scope));
    }
    const Ops seeds = FindSeeds();
    Ops reached;
    for (const int seed : seeds) reached = UnionOf(reached, ForwardWalk(seed));
    excluded_ =
        Select(reached, options_.v1.excl_scopes, options_.v1.excl_types);
    excluded_ = UnionOf(excluded_, Select(reached, {},
                                          {"Const", "Mul", "Add", "Identity",
                                           "Assign", "VariableV2", "Reshape",
                                           "Shape", "ShapeN", "Placeholder"}));
    included_ =
        Select(reached, options_.v1.incl_scopes, options_.v1.incl_types);
    FindOrders(seeds);
    for (const int seed : seeds) edit_.seeds.insert(op(seed).name);
    for (const auto& [op, order] : orders_) {
      edit_.orders[ops_[static_cast<size_t>(op)].name] = order;
    }
    edit_.backward_start = backward_start_;
    EditBreadthFirst(seeds);
    edit_.has_cycle = HasCycle();
    return edit_;
  }

 private:
  Ops All() const {
    Ops all;
    for (size_t i = 0; i < ops_.size(); ++i) all.insert(static_cast<int>(i));
    return all;
  }

  const Op& op(int id) const { return ops_[static_cast<size_t>(id)]; }

  Ops StartingWith(const std::string& scope) const {
    Ops found;
    for (const int id : All()) {
      if (op(id).name.starts_with(scope)) found.insert(id);
    }
    return found;
  }

  Ops Select(const Ops& among, const std::vector<std::string>& scopes,
             const std::vector<std::string>& types) const {
    Ops found;
    for (const int id : among) {
      for (const std::string& scope : scopes) {
        if ((op(id).name + "/").starts_with(scope + "/")) found.insert(id);
      }
      for (const std::string& type : types) {
        if (op(id).type == type) found.insert(id);
      }
    }
    return found;
  }

  Ops Consumers(const Tensor& tensor) const {
    Ops found;
    for (const int id : All()) {
      if (std::ranges::count(op(id).inputs, tensor) > 0) found.insert(id);
    }
    return found;
  }

  Ops Consumers(int id) const {
    Ops found;
    for (int i = 0; i < op(id).num_outputs; ++i) {
      found = UnionOf(found, Consumers(Tensor{id, i}));
    }
    return found;
  }

  // Within `among`; `start` is always included.
  Ops ForwardWalk(int start, const Ops& among) const {
    Ops met = {start};
    std::vector<int> open = {start};
    while (!open.empty()) {
      const int id = open.back();
      open.pop_back();
      for (const int next : And(Consumers(id), among)) {
        if (met.insert(next).second) open.push_back(next);
      }
    }
    return met;
  }
  Ops ForwardWalk(int start) const { return ForwardWalk(start, All()); }

  Ops FindSeeds() const {
    Ops seeds;
    if (!options_.v1.starting_scope.empty()) {
      seeds = StartingWith(options_.v1.starting_scope);
    }
    for (const std::string& name : options_.v1.starting_op_names) {
      for (const int id : All()) {
        if (op(id).name == name) seeds.insert(id);
      }
    }
    if (!seeds.empty()) return seeds;
    const Ops forward = Without(All(), gradient_);
    Ops candidates;
    for (const int id : forward) {
      if (!And(Consumers(id), gradient_).empty()) candidates.insert(id);
    }
    size_t most = 1;
    for (const int id : candidates) {
      const size_t cover =
          Without(And(ForwardWalk(id, forward), candidates), {id}).size();
      if (cover > most) seeds.clear();
      if (cover >= most) seeds.insert(id);
      most = std::max(most, cover);
    }
    return seeds;
  }

  void FindOrders(const Ops& seeds) {
    Ops known;
    for (const int seed : seeds) known = UnionOf(known, ForwardWalk(seed));
    Ops on_the_way;
    for (const int id : known) {
      if (!And(ForwardWalk(id), gradient_).empty()) on_the_way.insert(id);
    }
    std::map<int, Ops> waits_for;
    for (const int id : known) {
      Ops before = op(id).controls;
      for (const Tensor& input : op(id).inputs) {
        before.insert(input.op);
        before = And(before, on_the_way);
      }
      for (const int control : before) waits_for[control];
      waits_for[id] = UnionOf(waits_for[id], before);
    }
    for (auto& [id, before] : waits_for) {
      if (!known.contains(id)) before.clear();
    }
    std::vector<Ops> layers = Layer(waits_for);
    Ops updates;
    for (const int id : gradient_) updates = UnionOf(updates, ForwardWalk(id));
    updates = Without(updates, gradient_);
    for (Ops& layer : layers) {
      if (!Without(layer, gradient_).empty()) layer = Without(layer, gradient_);
      layer = Without(layer, updates);
    }
    std::erase_if(layers, [](const Ops& layer) { return layer.empty(); });
    for (size_t i = 0; i < layers.size(); ++i) {
      for (const int id : layers[i]) orders_[id] = static_cast<int>(i);
      if (backward_start_ < 0 && !And(layers[i], gradient_).empty()) {
        backward_start_ = static_cast<int>(i);
      }
    }
  }

  static std::vector<Ops> Layer(std::map<int, Ops> waits_for) {
    std::vector<Ops> layers;
    while (!waits_for.empty()) {
      Ops layer;
      for (const auto& [id, before] : waits_for) {
        if (before.empty()) layer.insert(id);
      }
      for (const int id : layer) waits_for.erase(id);
      for (auto& [id, before] : waits_for) before = Without(before, layer);
      layers.push_back(layer);
    }
    return layers;
  }

  int order(int id) const {
    const auto found = orders_.find(id);
    return found == orders_.end() ? -1 : found->second;
  }

  bool LimitReached() const {
    return options_.v1.n_tensors > 0 &&
           static_cast<int64_t>(edit_.swaps.size()) >= options_.v1.n_tensors;
  }

  void EditBreadthFirst(const Ops& seeds) {
    std::vector<int> queue(seeds.begin(), seeds.end());
    Ops closed;
    while (!queue.empty()) {
      const int id = queue.front();
      queue.erase(queue.begin());
      const Ops next = Without(Consumers(id), gradient_);
      Insert(id);
      if (LimitReached()) return;
      for (const int each : next) {
        if (!closed.contains(each) && std::ranges::count(queue, each) == 0) {
          queue.push_back(each);
        }
      }
      closed.insert(id);
    }
  }

  void Insert(int id) {
    if (excluded_.contains(id)) return;
    if (!included_.empty() && !included_.contains(id)) return;
    for (int i = 0; i < op(id).num_outputs; ++i) {
      if (LimitReached()) return;
      SwapTensor({id, i});
    }
  }

  void SwapTensor(const Tensor& tensor) {
    Ops moved = And(Consumers(tensor), gradient_);
    if (options_.v1.swap_branches) {
      moved = UnionOf(moved, FarOps(Without(Consumers(tensor), gradient_)));
    }
    for (const int id : Ops(moved)) {
      if (ForwardWalk(id).size() == 1) moved.erase(id);
    }
    if (moved.empty()) return;
    const bool any_timed =
        std::ranges::any_of(moved, [&](int id) { return order(id) >= 0; });
    int swap_out = -1;
    const size_t place = edit_.swaps.size();
    if (any_timed) {
      swap_out = AddIdentity(tensor);
      edit_.swaps.push_back(
          {.tensor = op(tensor.op).name + ":" + std::to_string(tensor.index)});
    }
    Ops shared;
    for (const int id : moved) {
      if (order(id) > 0) shared.insert(id);
    }
    if (options_.v1.fuse_swapins && any_timed && shared.size() >= 2) {
      SwapIn(place, tensor, swap_out, shared);
      moved = Without(moved, shared);
    }
    for (const int id : moved) {
      if (order(id) >= 0) {
        SwapIn(place, tensor, swap_out, {id});
      } else if (!gradient_.contains(tensor.op)) {
        for (const int source : OrderedSources(id)) Insert(source);
      }
    }
  }

  Ops FarOps(const Ops& forward) const {
    Ops far;
    for (const int id : forward) {
      for (const int other : forward) {
        const bool is_nearest = std::ranges::all_of(
            forward, [&](int each) { return order(each) >= order(other); });
        if (is_nearest &&
            order(id) > order(other) + options_.v1.branch_threshold) {
          far.insert(id);
        }
      }
    }
    return far;
  }

  Ops OrderedSources(int start) const {
    Ops sources;
    Ops closed;
    std::vector<int> queue = {start};
    while (!queue.empty()) {
      const int id = queue.front();
      queue.erase(queue.begin());
      if (!closed.insert(id).second) continue;
      for (const int next : Consumers(id)) {
        if (order(next) > backward_start_) {
          sources.insert(id);
        } else {
          queue.push_back(next);
        }
      }
    }
    return sources;
  }

  int AddIdentity(const Tensor& input) {
    const int id = static_cast<int>(ops_.size());
    ops_.push_back({.name = "identity",
                    .type = "Identity",
                    .inputs = {input},
                    .num_outputs = 1});
    excluded_.insert(id);
    return id;
  }

  void SwapIn(size_t place, const Tensor& tensor, int swap_out,
              const Ops& readers) {
    const int id = AddIdentity({swap_out, 0});
    NaiveSwapIn swap_in;
    int first = *readers.begin();
    for (const int reader : readers) {
      swap_in.readers.insert(op(reader).name);
      if (order(reader) < order(first)) first = reader;
      std::ranges::replace(ops_[static_cast<size_t>(reader)].inputs, tensor,
                           Tensor{id, 0});
    }
    const Ops triggers = Triggers(tensor.op, first);
    int latest = -1;
    for (const int trigger : triggers) {
      swap_in.triggers.insert(op(trigger).name);
      if (latest < 0 || order(trigger) > order(latest)) latest = trigger;
    }
    if (latest >= 0) {
      swap_in.latest_trigger = op(latest).name;
      ops_[static_cast<size_t>(id)].controls.insert(latest);
    }
    edit_.swaps[place].swap_ins.push_back(swap_in);
  }

  Ops Triggers(int forward, int backward) const {
    int64_t lb = options_.v1.lb;
    if (order(backward) - lb <= order(forward)) lb = 1;
    const bool chain =
        options_.v1.ctrld_strategy == ControlStrategy::kChainRule;
    if (!chain || gradient_.contains(forward) ||
        order(backward) - lb < backward_start_) {
      return DirectOrder(forward, backward, lb);
    }
    return ChainRule(forward, backward, lb);
  }

  Ops ChainRule(int forward, int backward, int64_t lb) const {
    if (lb > options_.v1.ub) return {};
    Ops layer = {forward};
    Ops closed = {forward};
    for (int64_t depth = 0; depth != options_.v1.ub && !layer.empty();
         ++depth) {
      Ops found;
      Ops next;
      for (const int id : layer) {
        for (const int each : Consumers(id)) {
          if (!gradient_.contains(each)) next.insert(each);
          if (gradient_.contains(each) && order(each) > order(forward) &&
              order(each) < order(backward) && !IsConditional(each)) {
            found.insert(each);
          }
        }
      }
      if (depth >= lb && !found.empty()) return found;
      layer = Without(next, closed);
      closed = UnionOf(closed, layer);
    }
    return {};
  }

  Ops DirectOrder(int forward, int backward, int64_t lb) const {
    const int64_t last =
        std::max<int64_t>(order(backward) - options_.v1.ub, order(forward)) + 1;
    for (int64_t i = order(backward) - lb - 1; i >= last; --i) {
      Ops found;
      for (const auto& [id, order] : orders_) {
        if (order == i && ForwardWalk(id).contains(backward) &&
            !IsConditional(id)) {
          found.insert(id);
        }
      }
      if (!found.empty()) return found;
    }
    return {};
  }

  bool IsConditional(int id) const {
    return op(id).name.find("/cond/") != std::string::npos;
  }

  bool HasCycle() const {
    Ops left = All();
    for (bool removed = true; removed;) {
      removed = false;
      for (const int id : Ops(left)) {
        Ops before = op(id).controls;
        for (const Tensor& input : op(id).inputs) before.insert(input.op);
        if (!And(before, left).empty()) continue;
        left.erase(id);
        removed = true;
      }
    }
    return !left.empty();
  }

  const LmsOptions& options_;
  std::vector<Op> ops_;
  Ops gradient_;
  Ops excluded_;
  Ops included_;
  std::map<int, int> orders_;
  int backward_start_ = -1;
  NaiveEdit edit_;
};

}  // namespace

NaiveEdit EditAsOriginal(const LmsOptions& options, const Graph& graph) {
  return Original(options, graph).Run();
}

}  // namespace spillway::testing
