#include "tests/lms/v2/naive_v2.h"

#include <algorithm>
#include <sstream>

namespace spillway::testing {
namespace {

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool IsAnyOf(const std::string& text, const std::set<std::string>& texts) {
  return texts.contains(text);
}

std::set<int> LevelUnion(std::set<int> a, const std::set<int>& b) {
  a.insert(b.begin(), b.end());
  return a;
}

std::set<int> LevelMinus(const std::set<int>& a, const std::set<int>& b) {
  std::set<int> rest;
  for (const int item : a) {
    if (!b.contains(item)) rest.insert(item);
  }
  return rest;
}

// The list of the original; the two names that its missing comma joins match
// nothing.
const std::set<std::string>& UnusedTypes() {
  static const std::set<std::string> types = {
      "Const", "Identity", "Read", "Placeholder", "PlaceholderWithDefault",
      "VarHandleOp", "VarIsInitializedOp", "VariableShape", "ReadVariableOp",
      "AssignVariableOp", "AssignAddVariableOp", "ResourceScatterAdd",
      "ResourceScatterSub", "ResourceScatterMul", "ResourceScatterDiv",
      "ResourceScatterMin", "ResourceScatterMax", "ResourceScatterUpdate",
      "ResourceScatterNdUpdate", "ResourceScatterNdAdd", "Range",
      "RandomUniform",
      // Variable ops.
      "Assign", "AssignAdd", "AssignSub", "Queue", "ScatterAdd", "ScatterSub",
      "ScatterUpdate", "TruncatedNormal", "Variable", "VariableV2"};
  return types;
}

}  // namespace

NaiveV2::NaiveV2(const Graph& graph, LmsOptions options, NaiveChoice choose)
    : options_(std::move(options)), choose_(std::move(choose)) {
  for (const Node& node : graph.nodes()) {
    NaiveOp op{.name = node.name, .type = node.op};
    op.on_cpu = node.placement == Placement::kHost;
    op.trainable =
        IsAnyOf(node.op, {"Variable", "VariableV2", "VarHandleOp"}) &&
        *node.attributes.GetBool("trainable", true);
    op.batch_norm_trains = *node.attributes.GetBool("is_training", true);
    for (const ValueId input : node.inputs) {
      op.inputs.emplace_back(graph.value(input).producer.value(),
                             graph.value(input).index);
    }
    for (const NodeId before : node.control_inputs) {
      op.controls.insert(before.value());
    }
    for (const ValueId output : node.outputs) {
      op.ranks.push_back(graph.type(output).shape.rank());
      op.bytes.push_back(graph.type(output).num_bytes());
    }
    ops_.push_back(op);
  }
}

void NaiveV2::Prepare() {
  const int num_old = static_cast<int>(ops_.size());
  inactive_ = FindInactive();
  levels_ = FindLevels();
  for (const auto& [op, level] : levels_) {
    num_levels_ = std::max(num_levels_, level + 1);
  }
  Serialize();
  std::set<int> excluded;
  for (int op = 0; op < num_old; ++op) {
    if (ops_[op].on_cpu || inactive_.contains(op) ||
        UnusedTypes().contains(ops_[op].type)) {
      excluded.insert(op);
    }
    sources_.insert(op);
    readers_.insert(op);
  }
  const LmsOptions& o = options_;
  if (!o.v2.incl_output_by_scopes.empty() ||
      !o.v2.incl_output_by_types.empty()) {
    sources_ = FilterOps(o.v2.incl_output_by_scopes, o.v2.incl_output_by_types);
  }
  if (!o.v2.incl_input_by_scopes.empty() || !o.v2.incl_input_by_types.empty()) {
    readers_ = FilterOps(o.v2.incl_input_by_scopes, o.v2.incl_input_by_types);
  }
  sources_ = LevelMinus(
      LevelMinus(sources_, excluded),
      FilterOps(o.v2.excl_output_by_scopes, o.v2.excl_output_by_types));
  readers_ = LevelMinus(
      LevelMinus(readers_, excluded),
      FilterOps(o.v2.excl_input_by_scopes, o.v2.excl_input_by_types));
}

std::vector<NaiveOp> NaiveV2::Run() {
  Prepare();
  const LmsOptions& o = options_;
  for (const int source : sources_) InsertSwaps(source);
  if (swap_ins_.empty()) return ops_;

  std::set<int> hosts;
  for (int op = 0; op < static_cast<int>(ops_.size()); ++op) {
    if (ops_[op].on_cpu && !inactive_.contains(op)) hosts.insert(op);
  }
  if (o.v2.sync_mode == 0 || o.v2.sync_mode == 1) {
    for (const SwapIn& s : swap_ins_) {
      SearchControl(s.source, s.swap_in, s.reader);
    }
  } else {
    for (const int host : hosts) SyncIn(host);
  }
  if (o.v2.sync_mode == 1 || o.v2.sync_mode == 3) {
    for (const int host : hosts) SyncOut(host);
  }
  return ops_;
}

std::set<int> NaiveV2::Producers(int op) const {
  std::set<int> producers;
  for (const auto& [producer, output] : ops_[op].inputs) {
    producers.insert(producer);
  }
  return producers;
}

std::set<int> NaiveV2::Consumers(int op) const {
  std::set<int> consumers;
  for (int other = 0; other < static_cast<int>(ops_.size()); ++other) {
    if (Producers(other).contains(op)) consumers.insert(other);
  }
  return consumers;
}

std::set<int> NaiveV2::ControlOutputs(int op) const {
  std::set<int> after;
  for (int other = 0; other < static_cast<int>(ops_.size()); ++other) {
    if (ops_[other].controls.contains(op)) after.insert(other);
  }
  return after;
}

std::set<int> NaiveV2::OnGpu(const std::set<int>& ops) const {
  std::set<int> on_gpu;
  for (const int op : ops) {
    if (!ops_[op].on_cpu && !inactive_.contains(op)) on_gpu.insert(op);
  }
  return on_gpu;
}

std::set<int> NaiveV2::FindInactive() const {
  std::set<int> inactive;
  for (int op = 0; op < static_cast<int>(ops_.size()); ++op) {
    const NaiveOp& o = ops_[op];
    if (IsAnyOf(o.type, {"FusedBatchNorm", "FusedBatchNormGrad"}) &&
        o.batch_norm_trains != options_.v2.is_training) {
      inactive.insert(op);
    }
    if (Has(o.name, "while/") && !IsAnyOf(o.type, {"Enter", "Exit"})) {
      inactive.insert(op);
    }
  }
  for (bool found = true; found;) {
    found = false;
    for (int op = 0; op < static_cast<int>(ops_.size()); ++op) {
      if (inactive.contains(op)) continue;
      if (IsAnyOf(ops_[op].type, {"Merge", "Switch"})) continue;
      const std::set<int> all = LevelUnion(Producers(op), ops_[op].controls);
      const std::set<int> live = LevelMinus(all, inactive);
      if (live.size() == all.size()) continue;
      bool dead = true;
      for (const int other : live) {
        if (ops_[other].type != "Const") dead = false;
      }
      if (Has(ops_[op].name, "Variable")) dead = true;
      if (!dead) continue;
      inactive.insert(op);
      found = true;
    }
  }
  return inactive;
}

std::set<int> NaiveV2::FilterOps(const std::vector<std::string>& scopes,
                                 const std::vector<std::string>& types) const {
  std::set<int> found;
  for (int op = 0; op < static_cast<int>(ops_.size()); ++op) {
    for (const std::string& scope : scopes) {
      if (ops_[op].name.rfind(scope, 0) == 0) found.insert(op);
    }
    for (const std::string& type : types) {
      if (ops_[op].type == type) found.insert(op);
    }
  }
  return found;
}

std::map<int, int> NaiveV2::FindLevels() const {
  std::map<int, std::set<int>> waiting;
  for (int op = 0; op < static_cast<int>(ops_.size()); ++op) {
    const NaiveOp& o = ops_[op];
    std::set<int> before = LevelUnion(Producers(op), o.controls);
    if (Has(o.name, "while/")) {
      if (!IsAnyOf(o.type, {"Enter", "Exit", "Merge", "Switch"})) continue;
      for (const int other : LevelUnion(before, {})) {
        const std::string& type = ops_[other].type;
        if ((o.type == "Merge" && type == "NextIteration") ||
            (o.type == "Switch" && type == "LoopCond")) {
          before.erase(other);
        }
      }
    }
    waiting[op] = before;
  }
  std::map<int, int> levels;
  for (int level = 0;; ++level) {
    std::set<int> layer;
    for (const auto& [op, before] : waiting) {
      if (before.empty()) layer.insert(op);
    }
    if (layer.empty()) return levels;
    for (const int op : layer) {
      levels[op] = level;
      waiting.erase(op);
    }
    for (auto& [op, before] : waiting) before = LevelMinus(before, layer);
  }
}

int NaiveV2::Level(int op) const {
  const auto found = levels_.find(op);
  return found == levels_.end() ? -1 : found->second;
}

std::set<int> NaiveV2::OpsOfLevel(int level) const {
  std::set<int> ops;
  for (const auto& [op, of] : levels_) {
    if (of == level) ops.insert(op);
  }
  return ops;
}

// The original's test: expands level by level, strictly between the two.
bool NaiveV2::Reaches(int from, int to, bool with_controls) const {
  const auto next = [&](int op) {
    return with_controls ? LevelUnion(Consumers(op), ControlOutputs(op))
                         : Consumers(op);
  };
  std::set<int> reached = next(from);
  for (int level = Level(from) + 1; level < Level(to); ++level) {
    for (const int op : OpsOfLevel(level)) {
      if (reached.contains(op)) reached = LevelUnion(reached, next(op));
    }
  }
  return reached.contains(to);
}

bool NaiveV2::HasPath(int from, int to) const {
  std::set<int> met = {from};
  std::vector<int> open = {from};
  while (!open.empty()) {
    const int op = open.back();
    open.pop_back();
    if (op == to) return true;
    for (const int other : LevelUnion(Consumers(op), ControlOutputs(op))) {
      if (met.insert(other).second) open.push_back(other);
    }
  }
  return false;
}

// Our rule with and without compat: no cycle.
void NaiveV2::AddControl(int before, int after) {
  if (HasPath(after, before)) {
    ++cycles_refused_;
  } else {
    ops_[after].controls.insert(before);
  }
}

std::set<int> NaiveV2::ChosenLevels() const {
  std::set<int> chosen;
  for (const std::string& item : options_.v2.serialization) {
    std::vector<std::string> parts;
    std::stringstream stream(item + ":");
    for (std::string part; std::getline(stream, part, ':');) {
      parts.push_back(part);
    }
    if (parts.size() == 1) {
      parts.push_back(std::to_string(std::stoi(parts[0]) + 1));
    }
    const int step =
        parts.size() < 3 || parts[2].empty() ? 1 : std::stoi(parts[2]);
    const auto bound = [&](const std::string& text, int otherwise) {
      if (text.empty()) return otherwise;
      const int number = std::stoi(text);
      return number < 0 ? number + num_levels_ : number;
    };
    int at = bound(parts[0], step > 0 ? 0 : num_levels_ - 1);
    if (step > 0) at = std::max(at, 0);
    if (step < 0) at = std::min(at, num_levels_ - 1);
    const int end = bound(parts[1], step > 0 ? num_levels_ : -1);
    for (; step > 0 ? at < end : at > end; at += step) {
      if (at >= 0 && at < num_levels_) chosen.insert(at);
      if (at < 0 || at >= num_levels_) break;
    }
  }
  for (int level = 0; level < num_levels_; ++level) {
    int64_t bytes = 0;
    for (const int op : OnGpu(OpsOfLevel(level))) {
      for (const auto& [from, output] : ops_[op].inputs) {
        bytes += ops_[from].bytes[output];
      }
      for (const int64_t output : ops_[op].bytes) bytes += output;
    }
    const double gib = static_cast<double>(bytes) / 1024 / 1024 / 1024;
    if (options_.v2.serialization_by_size_gib > 0 &&
        gib > options_.v2.serialization_by_size_gib) {
      chosen.insert(level);
    }
  }
  return chosen;
}

void NaiveV2::Serialize() {
  const std::set<std::string> variables = {"Variable", "VariableV2",
                                           "VarHandleOp"};
  int assigned = 0;
  for (const NaiveOp& variable : ops_) {
    if (!variables.contains(variable.type)) continue;
    for (int op = 0; op < static_cast<int>(ops_.size()); ++op) {
      if (ops_[op].name == variable.name + "/Assign") {
        assigned = std::max(assigned, Level(op));
      }
    }
  }
  std::vector<int> tail;
  int tail_level = -2;
  for (const int level : ChosenLevels()) {
    if (level <= assigned) continue;
    std::vector<int> chain;
    for (const int op : OnGpu(OpsOfLevel(level))) {
      const std::string& name = ops_[op].name;
      if (Has(name, "/cond/") || Has(name, "loss")) continue;
      if (variables.contains(ops_[op].type)) continue;
      chain.push_back(op);
    }
    std::vector<int> all = tail_level == level - 1 ? tail : std::vector<int>();
    all.insert(all.end(), chain.begin(), chain.end());
    for (size_t i = 1; i < all.size(); ++i) AddControl(all[i - 1], all[i]);
    tail.clear();
    if (!chain.empty()) tail = {chain.back()};
    tail_level = level;
  }
  levels_ = FindLevels();
}

std::vector<std::set<int>> NaiveV2::GroupBy(const std::set<int>& ops) const {
  std::vector<std::set<int>> groups;
  if (options_.v2.swapin_groupby <= 0) {
    for (const int op : ops) groups.push_back({op});
    return groups;
  }
  std::vector<std::pair<int, int>> sorted;
  for (const int op : ops) sorted.emplace_back(Level(op), op);
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 ||
        sorted[i].first - sorted[i - 1].first > options_.v2.swapin_groupby) {
      groups.emplace_back();
    }
    groups.back().insert(sorted[i].second);
  }
  return groups;
}

int NaiveV2::AddCopy(const std::string& name, std::pair<int, int> input) {
  NaiveOp op{.name = name, .type = "Identity", .on_cpu = true};
  op.inputs = {input};
  op.ranks = {2};
  op.bytes = {0};
  ops_.push_back(op);
  return static_cast<int>(ops_.size()) - 1;
}

void NaiveV2::InsertSwaps(int source) {
  for (int output = 0; output < static_cast<int>(ops_[source].ranks.size());
       ++output) {
    if (ops_[source].ranks[output] <= 1) continue;
    if (ops_[source].bytes[output] < options_.size_threshold_bytes) continue;
    const std::pair<int, int> tensor = {source, output};
    std::set<int> far;
    for (const int op : Consumers(source)) {
      const auto& inputs = ops_[op].inputs;
      if (std::count(inputs.begin(), inputs.end(), tensor) == 0) continue;
      if (Level(op) - Level(source) > options_.v2.swapout_threshold &&
          readers_.contains(op)) {
        far.insert(op);
      }
    }
    if (far.empty()) continue;
    const int swap_out = AddCopy("swapout", tensor);
    for (const std::set<int>& group : GroupBy(far)) {
      const int swap_in = AddCopy("swapin", {swap_out, 0});
      int earliest = *group.begin();
      for (const int op : group) {
        for (auto& input : ops_[op].inputs) {
          if (input == tensor) input = {swap_in, 0};
        }
        if (Level(op) < Level(earliest)) earliest = op;
      }
      swap_ins_.push_back({source, swap_in, earliest});
    }
  }
}

std::set<int> NaiveV2::FindControls(int source, int reader, int ahead) const {
  const int last = std::max(Level(reader) - ahead - 10, Level(source) + 1);
  for (int level = Level(reader) - ahead - 1; level >= last; --level) {
    std::set<int> candidates;
    for (const int op : OnGpu(OpsOfLevel(level))) {
      const NaiveOp& o = ops_[op];
      if (!Reaches(op, reader, false)) continue;
      if (Has(o.name, "/cond/") && !IsAnyOf(o.type, {"Merge", "Switch"})) {
        continue;
      }
      if (Has(o.name, "while/") && !IsAnyOf(o.type, {"Enter", "Exit"})) {
        continue;
      }
      candidates.insert(op);
    }
    if (!candidates.empty()) return candidates;
  }
  return {};
}

void NaiveV2::SearchControl(int source, int swap_in, int reader) {
  const auto ahead = static_cast<int>(options_.v2.swapin_ahead);
  const std::set<int> candidates = FindControls(source, reader, ahead);
  if (candidates.empty()) {
    SyncIn(swap_in);
  } else {
    AddControl(choose_(swap_in, candidates), swap_in);
  }
}

void NaiveV2::SyncIn(int host) {
  const std::set<int> devices = OnGpu(Consumers(host));
  if (devices.size() != 1) return;
  const int reader = *devices.begin();
  std::set<int> ready =
      OnGpu(LevelUnion(Producers(reader), ops_[reader].controls));
  if (ready.empty()) ready = OnGpu(OpsOfLevel(Level(reader) - 1));
  const std::set<int> outputs =
      OnGpu(LevelUnion(Consumers(host), ControlOutputs(host)));
  std::set<int> kept;
  for (const int op : ready) {
    bool cycle = false;
    for (const int output : outputs) {
      cycle = cycle || op == output || Reaches(output, op, true);
    }
    if (!cycle) kept.insert(op);
  }
  kept =
      LevelMinus(kept, OnGpu(LevelUnion(Producers(host), ops_[host].controls)));
  for (const int op : kept) AddControl(op, host);
}

void NaiveV2::SyncOut(int host) {
  const std::set<int> devices = OnGpu(Producers(host));
  if (devices.size() != 1) return;
  const int producer = *devices.begin();
  const std::set<int> inputs =
      OnGpu(LevelUnion(Producers(host), ops_[host].controls));
  std::set<int> kept;
  for (const int op :
       OnGpu(LevelUnion(Consumers(producer), ControlOutputs(producer)))) {
    bool cycle = false;
    for (const int input : inputs) {
      cycle = cycle || op == input || Reaches(op, input, true);
    }
    if (!cycle) kept.insert(op);
  }
  kept = LevelMinus(kept,
                    OnGpu(LevelUnion(Consumers(host), ControlOutputs(host))));
  for (const int op : kept) AddControl(host, op);
}

}  // namespace spillway::testing
