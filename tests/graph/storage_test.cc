#include "graph/storage.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "graph/input_groups.h"
#include "graph/well_known_ops.h"
#include "gtest/gtest.h"
#include "tests/support/toy_ops.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ToyOps;

const TensorType kType = {.dtype = DType::kUInt8, .shape = {8}};

// ToyOps, and: Const, Groups (any number of pairs (variable, gradient), each of
// which is overwritten and aliased by an output, and a shared rate), Part (its
// first output is its input, its second is new), Write (overwrites its input
// and has a new output).
OpRegistry Ops() {
  OpRegistry ops = ToyOps();
  const auto add = [&](OpDef def) {
    def.infer = [](const InferContext&) {
      return absl::StatusOr<std::vector<TensorType>>(std::vector{kType});
    };
    ops.Add(std::move(def));
  };
  add({.name = std::string(kConst), .outputs = {"y"}, .resident = true});
  add({.name = "Groups",
       .inputs = {"variable", "gradient", "rate"},
       .outputs = {"y"},
       .group_inputs = 2,
       .alias = {{.input = 0, .output = 0}},
       .mutates = {0}});
  add({.name = "Part",
       .inputs = {"x"},
       .outputs = {"same", "new"},
       .alias = {{.input = 0, .output = 0}}});
  add({.name = "Write", .inputs = {"x"}, .outputs = {"y"}, .mutates = {0}});
  return ops;
}

// Nodes by name; each has one tested output, the first.
struct Made {
  Graph graph = Graph("test");

  ValueId Add(std::string name, std::string_view op,
              std::vector<ValueId> inputs = {}, size_t outputs = 1) {
    return graph.output(
        graph.AddNode({.name = std::move(name),
                       .op = std::string(op),
                       .inputs = std::move(inputs),
                       .outputs = std::vector<TensorType>(outputs, kType)}));
  }
};

TEST(StorageTest, AnAliasOfAnAliasNamesTheRootsBytes) {
  Made m;
  const ValueId x = m.Add("x", "PlanOnly");
  const ValueId other = m.Add("other", "PlanOnly", {x});
  const ValueId y = m.Add("y", "Alias", {x});
  const ValueId z = m.Add("z", "Alias", {y});
  const NodeId reader =
      m.graph.value(m.Add("reader", "PlanOnly", {z, x})).producer;

  const StorageMap storages = StorageMap::Of(m.graph, Ops());
  EXPECT_EQ(storages.size(), 3);
  EXPECT_THAT(storages.of(z).values, ElementsAre(x, y, z));
  EXPECT_EQ(storages.of(y).root, x);
  EXPECT_TRUE(storages.of(x).can_be_copied());
  EXPECT_THAT(ReadersOf(m.graph, storages, storages.of(x)),
              ElementsAre(m.graph.value(other).producer, reader));
}

TEST(StorageTest, AReshapedVariableIsResidentAndItsUpdateOverwritesIt) {
  Made m;
  const ValueId w = m.Add("w", kVariable);
  const ValueId y = m.Add("y", "Alias", {w});
  const ValueId gradient = m.Add("gradient", "PlanOnly", {y});
  const ValueId updated = m.Add("updated", "Update", {w, gradient});

  const StorageMap storages = StorageMap::Of(m.graph, Ops());
  const Storage& storage = storages.of(y);
  EXPECT_THAT(storage.values, ElementsAre(w, y, updated));
  EXPECT_TRUE(storage.is_resident);
  EXPECT_THAT(storage.overwriters,
              ElementsAre(m.graph.value(updated).producer));
  EXPECT_FALSE(storage.can_be_copied());
  EXPECT_FALSE(storages.is_pure_alias(m.graph.value(updated).producer));
  EXPECT_FALSE(storages.of(gradient).is_resident);
}

TEST(StorageTest, EachGroupOfAnUpdateNamesItsOwnVariable) {
  Made m;
  const ValueId a = m.Add("a", kVariable);
  const ValueId b = m.Add("b", kVariable);
  const ValueId g = m.Add("g", "PlanOnly");
  const ValueId rate = m.Add("rate", kConst);
  const ValueId first = m.Add("update", "Groups", {a, g, b, g, rate}, 2);
  const NodeId update = m.graph.value(first).producer;

  const StorageMap storages = StorageMap::Of(m.graph, Ops());
  EXPECT_THAT(storages.of(a).values, ElementsAre(a, first));
  EXPECT_THAT(storages.of(b).values, ElementsAre(b, m.graph.output(update, 1)));
  EXPECT_THAT(storages.of(b).overwriters, ElementsAre(update));
  EXPECT_THAT(storages.of(rate).overwriters, IsEmpty());
  EXPECT_TRUE(storages.of(rate).is_resident);
}

TEST(StorageTest, BytesThatAreWrittenOrNamedByAComputingNodeCannotBeCopied) {
  Made m;
  const ValueId x = m.Add("x", "PlanOnly");
  const ValueId part = m.Add("part", "Part", {x}, 2);
  const ValueId y = m.Add("y", "PlanOnly");
  m.Add("write", "Write", {y});

  const StorageMap storages = StorageMap::Of(m.graph, Ops());
  EXPECT_EQ(storages.of(part).root, x);
  EXPECT_FALSE(storages.of(x).can_be_copied());
  EXPECT_FALSE(storages.of(y).can_be_copied());
  EXPECT_EQ(storages.of(m.graph.output(m.graph.value(part).producer, 1)).root,
            m.graph.output(m.graph.value(part).producer, 1));
}

TEST(StorageTest, AnAliasWithoutItsInputHasBytesOfItsOwn) {
  Made m;  // as in a graph from an external source
  const ValueId x = m.Add("x", "Alias", {});
  const StorageMap storages = StorageMap::Of(m.graph, Ops());
  EXPECT_EQ(storages.of(x).root, x);
  EXPECT_FALSE(storages.is_pure_alias(m.graph.value(x).producer));
}

TEST(StorageTest, WithoutAliasesEachValueIsAlone) {
  Made m;
  const ValueId w = m.Add("w", kVariable);
  const ValueId y = m.Add("y", "Alias", {w});
  const ValueId updated = m.Add("updated", "Update", {w, y});

  const StorageMap storages = StorageMap::WithoutAliases(m.graph);
  EXPECT_EQ(storages.size(), 3);
  for (const ValueId value : {w, y, updated}) {
    EXPECT_EQ(storages.of(value).root, value);
    EXPECT_THAT(storages.of(value).values, ElementsAre(value));
    EXPECT_TRUE(storages.of(value).can_be_copied());
  }
  EXPECT_THAT(
      ReadersOf(m.graph, storages, storages.of(w)),
      ElementsAre(m.graph.value(y).producer, m.graph.value(updated).producer));
}

TEST(StorageTest, ResidentsOfProgramsMeetByTheNameOfAVariable) {
  Made m;
  m.Add("w", kVariable);
  m.Add("c", kConst);
  EXPECT_EQ(ResidentKey(m.graph.node(NodeId(0)), "1/"), "w");
  EXPECT_EQ(ResidentKey(m.graph.node(NodeId(1)), "1/"), "1/c");
  EXPECT_TRUE(IsResidentNode(m.graph.node(NodeId(1)), Ops()));
}

// --- Compares random graphs, whose ids are in no order, with unions of pairs.

struct Planned {
  std::string op;
  size_t num_outputs = 1;
  std::vector<std::pair<size_t, size_t>> inputs = {};  // node, output
};

std::vector<Planned> RandomNodes(std::mt19937_64& random) {
  const auto below = [&](size_t limit) { return random() % limit; };
  std::vector<Planned> nodes = {{.op = std::string(kVariable)},
                                {.op = std::string(kConst)}};
  const size_t count = 5 + below(40);
  while (nodes.size() < count) {
    const auto any = [&] {
      const size_t node = below(nodes.size());
      return std::pair(node, below(nodes[node].num_outputs));
    };
    switch (below(9)) {
      case 0:
        nodes.push_back({.op = std::string(kVariable)});
        break;
      case 1:
        nodes.push_back({.op = "Update", .inputs = {any(), any()}});
        break;
      case 2: {
        Planned groups = {.op = "Groups", .num_outputs = 1 + below(3)};
        for (size_t i = 0; i < 2 * groups.num_outputs + 1; ++i) {
          groups.inputs.push_back(any());
        }
        nodes.push_back(std::move(groups));
        break;
      }
      case 3:
        nodes.push_back({.op = "Part", .num_outputs = 2, .inputs = {any()}});
        break;
      case 4:
        nodes.push_back({.op = "Write", .inputs = {any()}});
        break;
      case 5:
        nodes.push_back({.op = "PlanOnly",
                         .num_outputs = 1 + below(3),
                         .inputs = {any(), any()}});
        break;
      default:
        nodes.push_back({.op = "Alias", .inputs = {any()}});
    }
  }
  return nodes;
}

Graph Shuffled(const std::vector<Planned>& nodes, std::mt19937_64& random) {
  std::vector<size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::shuffle(order, random);
  Graph graph("random");
  std::vector<NodeId> id_of(nodes.size());
  for (const size_t i : order) {
    id_of[i] = graph.AddNode(
        {.name = fmt::format("n{}", i),
         .op = nodes[i].op,
         .outputs = std::vector<TensorType>(nodes[i].num_outputs, kType)});
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<ValueId> inputs;
    for (const auto& [node, output] : nodes[i].inputs) {
      inputs.push_back(graph.output(id_of[node], static_cast<int>(output)));
    }
    graph.SetInputs(id_of[i], inputs);
  }
  return graph;
}

// Classes of values, merged pair by pair.
class NaiveStorages {
 public:
  NaiveStorages(const Graph& graph, const OpRegistry& ops)
      : graph_(graph), ops_(ops), class_(graph.num_values()) {
    for (size_t i = 0; i < class_.size(); ++i) class_[i] = i;
    for (const Node& node : graph.nodes()) {
      const OpDef* def = ops.Find(node.op);
      if (def == nullptr) continue;
      for (const BufferPair& pair : AliasesOf(*def, node.inputs.size())) {
        const ValueId y = node.outputs[static_cast<size_t>(pair.output)];
        renamed_.insert(y);
        Join(node.inputs[static_cast<size_t>(pair.input)], y);
      }
    }
  }

  bool AreSame(ValueId a, ValueId b) const {
    return class_[a.index()] == class_[b.index()];
  }
  bool IsRoot(ValueId value) const { return !renamed_.contains(value); }
  bool IsResident(ValueId value) const {
    return AnyValue(value, [&](ValueId other) {
      const OpDef* def = ops_.Find(graph_.producer(other).op);
      return def != nullptr && def->resident;
    });
  }
  bool IsRenamedByComputation(ValueId value) const {
    return AnyValue(value, [&](ValueId other) {
      return !IsRoot(other) && graph_.producer(other).op != "Alias";
    });
  }
  std::vector<NodeId> Overwriters(ValueId value) const {
    std::vector<NodeId> nodes;
    for (const Node& node : graph_.nodes()) {
      const OpDef* def = ops_.Find(node.op);
      if (def == nullptr) continue;
      const std::vector<int> slots = MutatedInputs(*def, node.inputs.size());
      if (std::ranges::any_of(slots, [&](int slot) {
            return AreSame(value, node.inputs[static_cast<size_t>(slot)]);
          })) {
        nodes.push_back(node.id);
      }
    }
    return nodes;
  }
  std::vector<NodeId> Readers(ValueId value) const {
    std::vector<NodeId> nodes;
    for (const Node& node : graph_.nodes()) {
      if (node.op == "Alias") continue;
      if (std::ranges::any_of(node.inputs, [&](ValueId input) {
            return AreSame(value, input);
          })) {
        nodes.push_back(node.id);
      }
    }
    return nodes;
  }

 private:
  void Join(ValueId a, ValueId b) {
    const size_t from = class_[a.index()], to = class_[b.index()];
    std::ranges::replace(class_, from, to);
  }
  template <typename Test>
  bool AnyValue(ValueId value, Test test) const {
    for (size_t i = 0; i < class_.size(); ++i) {
      if (AreSame(value, ValueId(i)) && test(ValueId(i))) return true;
    }
    return false;
  }

  const Graph& graph_;
  const OpRegistry& ops_;
  std::vector<size_t> class_;
  std::set<ValueId> renamed_;
};

TEST(StorageTest, RandomGraphsHaveTheStoragesOfTheirAliasPairs) {
  const OpRegistry ops = Ops();
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    const std::vector<Planned> nodes = RandomNodes(random);
    const Graph graph = Shuffled(nodes, random);
    const NaiveStorages naive(graph, ops);
    const StorageMap storages = StorageMap::Of(graph, ops);

    std::set<ValueId> named;
    ValueId last_root;
    for (const Storage& storage : storages.storages()) {
      EXPECT_LT(last_root, storage.root);
      last_root = storage.root;
      EXPECT_TRUE(naive.IsRoot(storage.root));
      EXPECT_EQ(storage.values.front(), storage.root);
      EXPECT_TRUE(std::ranges::is_sorted(storage.values.subspan(1)));
      for (const ValueId value : storage.values) {
        EXPECT_TRUE(named.insert(value).second);
        EXPECT_EQ(&storages.of(value), &storage);
        EXPECT_EQ(naive.IsRoot(value), value == storage.root);
      }
      EXPECT_EQ(storage.is_resident, naive.IsResident(storage.root));
      EXPECT_EQ(storage.overwriters, naive.Overwriters(storage.root));
      EXPECT_EQ(storage.has_pure_aliases_only,
                !naive.IsRenamedByComputation(storage.root));
      EXPECT_EQ(ReadersOf(graph, storages, storage),
                naive.Readers(storage.root));
    }
    EXPECT_EQ(named.size(), graph.num_values());
    for (const ValueId a : graph.values().ids()) {
      for (const ValueId b : graph.values().ids()) {
        EXPECT_EQ(storages.id_of(a) == storages.id_of(b), naive.AreSame(a, b));
      }
    }
    for (const Node& node : graph.nodes()) {
      EXPECT_EQ(storages.is_pure_alias(node.id), node.op == "Alias");
    }
  }
}

}  // namespace
}  // namespace spillway
