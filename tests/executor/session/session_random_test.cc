// Random graphs with random swaps, run by sessions under several budgets.
// Results must be bitwise identical to a naive evaluation that gives every
// value its own bytes and has no swaps. An overlap that planner or executor
// wrongly allow shows as a difference (or, under TSan, as a race).
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "executor/device/registry.h"
#include "executor/session/session.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::IsOk;

using Words = std::vector<uint32_t>;  // the bits of a float32 tensor

struct WordSpan {
  const uint32_t* data = nullptr;
  size_t size = 0;
};

// Element i of a node's output: depends on every input, their order, and i.
uint32_t Mix(const std::vector<WordSpan>& inputs, uint32_t salt, size_t i) {
  uint32_t mixed = salt + static_cast<uint32_t>(i);
  for (const WordSpan& input : inputs) {
    mixed = std::rotl(mixed, 7) * 2654435761u + input.data[i % input.size];
  }
  return mixed;
}

// Mix (through a workspace) and MixInPlace (element by element over input 0),
// Update (the same, into a variable).
class MixKernel final : public Kernel {
 public:
  MixKernel(const KernelRequest& request, uint32_t salt, bool through_workspace)
      : inputs_(request.inputs.size()),
        words_(static_cast<size_t>(request.outputs[0].num_elements())),
        salt_(salt),
        through_workspace_(through_workspace) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i].size = static_cast<size_t>(request.inputs[i].num_elements());
    }
  }

  int64_t workspace_bytes() const override {
    return through_workspace_ ? static_cast<int64_t>(4 * words_) : 0;
  }

  absl::Status Run(const KernelContext& context) override {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i].data = context.input<uint32_t>(i);
    }
    auto* out = through_workspace_ ? static_cast<uint32_t*>(context.workspace)
                                   : context.output<uint32_t>(0);
    for (size_t i = 0; i < words_; ++i) out[i] = Mix(inputs_, salt_, i);
    if (through_workspace_)
      std::copy_n(out, words_, context.output<uint32_t>(0));
    return absl::OkStatus();
  }

 private:
  std::vector<WordSpan> inputs_;
  const size_t words_;
  const uint32_t salt_;
  const bool through_workspace_;
};

template <bool through_workspace>
absl::StatusOr<std::unique_ptr<Kernel>> NewMixKernel(
    const KernelRequest& request) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t salt,
                            request.attributes.GetInt("salt"));
  return std::make_unique<MixKernel>(request, static_cast<uint32_t>(salt),
                                     through_workspace);
}

absl::StatusOr<std::vector<TensorType>> StatedType(
    const InferContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Shape shape,
                            context.attributes.GetShape("shape"));
  return std::vector<TensorType>{{DType::kFloat32, shape}};
}

absl::StatusOr<std::vector<TensorType>> TypeOfFirstInput(
    const InferContext& context) {
  return std::vector<TensorType>{context.inputs[0]};
}

OpRegistry RandomOps() {
  OpRegistry ops;
  ops.Add({.name = std::string(kPlaceholder),
           .outputs = {"y"},
           .attributes = {"dtype", "shape"},
           .infer = StatedType});
  ops.Add({.name = std::string(kVariable),
           .outputs = {"y"},
           .attributes = {"dtype", "shape"},
           .infer = StatedType,
           .resident = true});
  ops.Add({.name = "Mix",
           .inputs = {"x"},
           .outputs = {"y"},
           .variadic = true,
           .attributes = {"salt", "shape"},
           .infer = StatedType});
  ops.Add({.name = "MixInPlace",
           .inputs = {"x"},
           .outputs = {"y"},
           .variadic = true,
           .attributes = {"salt"},
           .infer = TypeOfFirstInput,
           .in_place = {{.input = 0, .output = 0}}});
  ops.Add({.name = "Identity",
           .inputs = {"x"},
           .outputs = {"y"},
           .infer = TypeOfFirstInput,
           .alias = {{.input = 0, .output = 0}}});
  ops.Add({.name = "Update",
           .inputs = {"variable", "x"},
           .outputs = {"y"},
           .attributes = {"salt"},
           .infer = TypeOfFirstInput,
           .alias = {{.input = 0, .output = 0}},
           .mutates = {0}});
  return ops;
}

KernelRegistry RandomKernels() {
  KernelRegistry kernels;
  kernels.Add("Mix", DeviceKind::kCpu, NewMixKernel<true>);
  kernels.Add("MixInPlace", DeviceKind::kCpu, NewMixKernel<false>);
  kernels.Add("Update", DeviceKind::kCpu, NewMixKernel<false>);
  return kernels;
}

class Random {
 public:
  explicit Random(uint64_t seed) : seed_(seed) {}
  uint32_t Next() { return Philox4x32(seed_, counter_++)[0]; }
  size_t Below(size_t limit) { return Next() % limit; }
  bool Chance(int percent) { return Below(100) < static_cast<size_t>(percent); }

 private:
  const uint64_t seed_;
  uint64_t counter_ = 0;
};

// Two feeds, two variables, a random mix of them, and the variables' updates.
class RandomGraphMaker {
 public:
  RandomGraphMaker(const OpRegistry& ops, uint64_t seed)
      : random_(seed), builder_(ops) {}

  Program Make() {
    for (const char* name : {"x0", "x1"}) {
      values_.push_back(
          builder_.Placeholder(name, DType::kFloat32, RandomShape()));
    }
    for (const char* name : {"w0", "w1"}) {
      variables_.push_back(builder_.Add(
          builder_,
          {.op = std::string(kVariable),
           .attributes = {{"dtype", DType::kFloat32}, {"shape", RandomShape()}},
           .name = name}));
    }
    const size_t nodes = 10 + random_.Below(25);
    for (size_t i = 0; i < nodes; ++i) AddNode();
    for (const Tensor variable : variables_) AddUpdate(variable);
    Program program;
    for (int i = 0; i < 3; ++i) program.fetches.push_back(AnyValue().id());
    program.graph = std::move(builder_).Build().value();
    return program;
  }

 private:
  Shape RandomShape() {
    static constexpr int64_t kSizes[] = {10, 64, 300, 1000, 4096};
    return {kSizes[random_.Below(5)]};
  }
  // Prefers late values, so graphs get deep.
  Tensor AnyValue() {
    const size_t back = std::min(random_.Below(12), random_.Below(12));
    return values_[values_.size() - 1 - std::min(back, values_.size() - 1)];
  }
  std::vector<Tensor> Inputs() {
    std::vector<Tensor> inputs = {AnyValue()};
    while (random_.Chance(40)) inputs.push_back(AnyValue());
    if (random_.Chance(20)) inputs.push_back(variables_[random_.Below(2)]);
    return inputs;
  }
  void AddNode() {
    const auto salt = static_cast<int64_t>(random_.Next());
    OpSpec spec;
    if (random_.Chance(15)) {
      spec = {.op = "Identity", .inputs = {AnyValue()}};
    } else if (random_.Chance(40)) {
      spec = {.op = "MixInPlace",
              .inputs = Inputs(),
              .attributes = {{"salt", salt}}};
    } else {
      spec = {.op = "Mix",
              .inputs = Inputs(),
              .attributes = {{"salt", salt}, {"shape", RandomShape()}}};
    }
    values_.push_back(builder_.Add(builder_, std::move(spec)));
  }
  void AddUpdate(Tensor variable) {
    std::vector<Tensor> readers;
    for (const Use& use : builder_.graph().uses(variable.id())) {
      readers.emplace_back(&builder_, builder_.graph().output(use.node));
    }
    builder_.Add(builder_, {.op = "Update",
                            .inputs = {variable, AnyValue()},
                            .attributes = {{"salt", int64_t{1}}},
                            .control_inputs = readers});
  }

  Random random_;
  GraphBuilder builder_;
  std::vector<Tensor> values_;
  std::vector<Tensor> variables_;
};

// Swaps up to eight uses, each with or without a trigger between the value's
// producer and its reader. (Nodes of random graphs are in topological order.)
void AddRandomSwaps(uint64_t seed, Graph& graph) {
  Random random(seed);
  const size_t num_nodes = graph.num_nodes();
  for (int swap = 0; swap < 8; ++swap) {
    const NodeId reader(random.Below(num_nodes));
    const std::vector<ValueId>& inputs = graph.node(reader).inputs;
    if (inputs.empty()) continue;
    const Use use = {.node = reader,
                     .slot = static_cast<int32_t>(random.Below(inputs.size()))};
    const ValueId value = inputs[static_cast<size_t>(use.slot)];
    const Node& producer = graph.producer(value);
    if (producer.op == kVariable || producer.op == kSwapIn) continue;
    std::vector<NodeId> triggers;
    const auto distance = reader.value() - producer.id.value();
    if (distance > 1 && random.Chance(80)) {
      const auto ahead = static_cast<int32_t>(
          1 + random.Below(static_cast<size_t>(distance - 1)));
      triggers.emplace_back(producer.id.value() + ahead);
    }
    const TensorType type = graph.type(value);
    const NodeId out = graph.AddNode({.name = graph.UniqueName("swapout"),
                                      .op = std::string(kSwapOut),
                                      .inputs = {value},
                                      .outputs = {type},
                                      .placement = Placement::kHost});
    const NodeId in = graph.AddNode({.name = graph.UniqueName("swapin"),
                                     .op = std::string(kSwapIn),
                                     .inputs = {graph.output(out)},
                                     .control_inputs = triggers,
                                     .outputs = {type},
                                     .placement = Placement::kHost});
    graph.SetInput(use, graph.output(in));
  }
}

// The naive twin: nodes in order of id, on a graph without swaps.
class NaiveEvaluation {
 public:
  explicit NaiveEvaluation(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph_.nodes()) {
      if (node.op == kVariable) {
        variables_[node.name] = Words(
            static_cast<size_t>(graph_.type(node.outputs[0]).num_elements()));
      }
    }
  }

  // Returns all values; variables are kept for the next step.
  IdMap<ValueId, Words> Step(const std::map<ValueId, Words>& feeds) {
    IdMap<ValueId, Words> values(graph_.num_values());
    for (const Node& node : graph_.nodes()) {
      const ValueId out = node.outputs[0];
      if (node.op == kPlaceholder) {
        values[out] = feeds.at(out);
      } else if (node.op == kVariable) {
        values[out] = variables_.at(node.name);
      } else if (node.op == "Identity") {
        values[out] = values[node.inputs[0]];
      } else {
        values[out] = Compute(node, values);
      }
      if (node.op == "Update") {
        variables_[graph_.producer(node.inputs[0]).name] = values[out];
      }
    }
    return values;
  }

  const std::map<std::string, Words>& variables() const { return variables_; }

 private:
  Words Compute(const Node& node, const IdMap<ValueId, Words>& values) const {
    std::vector<WordSpan> inputs;
    for (const ValueId input : node.inputs) {
      inputs.push_back({values[input].data(), values[input].size()});
    }
    const auto salt =
        static_cast<uint32_t>(node.attributes.GetInt("salt").value());
    Words words(
        static_cast<size_t>(graph_.type(node.outputs[0]).num_elements()));
    for (size_t i = 0; i < words.size(); ++i) words[i] = Mix(inputs, salt, i);
    return words;
  }

  const Graph& graph_;
  std::map<std::string, Words> variables_;
};

Words WordsOf(const HostTensor& tensor) {
  Words words(tensor.bytes.size() / 4);
  std::memcpy(words.data(), tensor.bytes.data(), tensor.bytes.size());
  return words;
}

std::map<ValueId, Words> RandomWords(const Graph& graph, uint64_t seed) {
  Random random(seed);
  std::map<ValueId, Words> feeds;
  for (const Node& node : graph.nodes()) {
    if (node.op != kPlaceholder) continue;
    Words& words = feeds[node.outputs[0]];
    words.resize(
        static_cast<size_t>(graph.type(node.outputs[0]).num_elements()));
    for (uint32_t& word : words) word = random.Next();
  }
  return feeds;
}

struct RandomCase {
  std::string device;
  double link_gigabytes_per_second = 0;
  bool check_memory = false;
};

class SessionRandomTest : public ::testing::TestWithParam<RandomCase> {
 protected:
  absl::StatusOr<std::unique_ptr<Session>> NewSession(
      const Program& program, std::optional<int64_t> budget) {
    SPILLWAY_ASSIGN_OR_RETURN(
        std::unique_ptr<Device> device,
        NewDevice(GetParam().device,
                  {.threads = 1,
                   .link_gigabytes_per_second =
                       GetParam().link_gigabytes_per_second}));
    std::vector<Program> programs = {program};
    return Session::Create(std::move(programs), std::move(device),
                           {.ops = &ops_,
                            .kernels = &kernels_,
                            .device_memory = budget,
                            .threads = 1,
                            .check_memory = GetParam().check_memory});
  }

  // Compares three steps of `edited` on a session with a naive evaluation of
  // `original`.
  void Compare(const Program& original, const Program& edited,
               std::optional<int64_t> budget) {
    ASSERT_OK_AND_ASSIGN(const auto session, NewSession(edited, budget));
    NaiveEvaluation naive(original.graph);
    for (uint64_t step = 0; step < 3; ++step) {
      const std::map<ValueId, Words> inputs = RandomWords(original.graph, step);
      Feeds feeds;
      for (const auto& [id, words] : inputs) {
        feeds[id] =
            TensorView{.type = original.graph.type(id), .data = words.data()};
      }
      const IdMap<ValueId, Words> expected = naive.Step(inputs);
      ASSERT_OK_AND_ASSIGN(const StepResult result, session->Step(feeds));
      for (const ValueId fetch : edited.fetches) {
        ASSERT_EQ(WordsOf(result.fetched.at(fetch)), expected[fetch])
            << original.graph.ValueName(fetch);
      }
    }
    ASSERT_OK_AND_ASSIGN(const auto variables, session->ReadVariables());
    for (const auto& [name, value] : variables) {
      ASSERT_EQ(WordsOf(value), naive.variables().at(name)) << name;
    }
    const MemoryUse memory = session->memory();
    EXPECT_EQ(memory.measured_device_bytes, memory.predicted_device_bytes);
    EXPECT_EQ(memory.measured_host_bytes, memory.predicted_host_bytes);
    EXPECT_EQ(memory.allocations_in_steps, 0);
  }

  const OpRegistry ops_ = RandomOps();
  const KernelRegistry kernels_ = RandomKernels();
};

TEST_P(SessionRandomTest, AgreesWithTheNaiveEvaluationUnderEveryBudget) {
  int64_t swaps = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const Program original = RandomGraphMaker(ops_, seed).Make();
    Program edited = original;
    AddRandomSwaps(seed, edited.graph);
    swaps += static_cast<int64_t>(edited.graph.num_nodes() -
                                  original.graph.num_nodes());
    ASSERT_OK_AND_ASSIGN(const auto smallest, NewSession(edited, std::nullopt));
    const int64_t least = smallest->plan(0)->device_bytes;
    // As small as possible; a little slack; all waits as late as possible.
    for (const auto budget :
         {std::optional<int64_t>(), std::optional(least + least / 8),
          std::optional(1_GiB)}) {
      ASSERT_NO_FATAL_FAILURE(Compare(original, edited, budget));
    }
  }
  EXPECT_GT(swaps, 300);
}

INSTANTIATE_TEST_SUITE_P(
    CpuBackends, SessionRandomTest,
    ::testing::Values(RandomCase{.device = "inline"},
                      RandomCase{.device = "cpu"},
                      RandomCase{.device = "cpu",
                                 .link_gigabytes_per_second = 0.1},
                      RandomCase{.device = "inline", .check_memory = true},
                      RandomCase{.device = "cpu", .check_memory = true}));

}  // namespace
}  // namespace spillway
