#include "executor/kernel_registry.h"

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInternal;
using testing::StatusIs;

const TensorType kType = {DType::kFloat32, Shape({4})};

class ScratchKernel final : public Kernel {
 public:
  explicit ScratchKernel(int64_t bytes) : bytes_(bytes) {}
  int64_t workspace_bytes() const override { return bytes_; }
  absl::Status Run(const KernelContext&) override { return absl::OkStatus(); }

 private:
  const int64_t bytes_;
};

// The workspace size encodes the arguments of the factory.
absl::StatusOr<std::unique_ptr<Kernel>> NewScratchKernel(
    const KernelRequest& request) {
  return std::make_unique<ScratchKernel>(
      1000 * request.threads +
      100 * static_cast<int64_t>(request.inputs.size()) +
      10 * static_cast<int64_t>(request.outputs.size()));
}

// Two algorithms: "quick" with 100 bytes and "small" with none. It takes the
// first for any unknown name; the registry must notice this.
class TwoWaysKernel final : public Kernel {
 public:
  explicit TwoWaysKernel(bool is_small) : is_small_(is_small) {}
  absl::StatusOr<std::vector<KernelAlgorithm>> ListAlgorithms() override {
    return std::vector<KernelAlgorithm>{{"quick", 100}, {"small", 0}};
  }
  std::string_view algorithm() const override {
    return is_small_ ? "small" : "quick";
  }
  int64_t workspace_bytes() const override { return is_small_ ? 0 : 100; }
  absl::Status Run(const KernelContext&) override { return absl::OkStatus(); }

 private:
  const bool is_small_;
};

absl::StatusOr<std::unique_ptr<Kernel>> NewTwoWaysKernel(
    const KernelRequest& request) {
  return std::make_unique<TwoWaysKernel>(request.algorithm == "small");
}

absl::StatusOr<std::unique_ptr<Kernel>> RefuseDType(const KernelRequest&) {
  return absl::UnimplementedError("dtype not covered");
}

absl::StatusOr<std::unique_ptr<Kernel>> FailInLibrary(const KernelRequest&) {
  return absl::InternalError("library failed");
}

class KernelRegistryTest : public ::testing::Test {
 protected:
  KernelRegistryTest() {
    AddOp({.name = "Placeholder", .outputs = {"y"}});
    AddOp({.name = "Variable", .outputs = {"y"}, .resident = true});
    AddOp({.name = "Reshape",
           .inputs = {"x"},
           .outputs = {"y"},
           .alias = {{.input = 0, .output = 0}}});
    AddOp({.name = "Update",
           .inputs = {"variable"},
           .outputs = {"y"},
           .alias = {{.input = 0, .output = 0}},
           .mutates = {0}});
    for (const char* name : {"Double", "SwapOut", "SwapIn", "Picky"}) {
      AddOp({.name = name, .inputs = {"x"}, .outputs = {"y"}});
    }
    kernels_.Add("Double", DeviceKind::kCpu, NewScratchKernel);
    kernels_.Add("Picky", DeviceKind::kCpu, RefuseDType);
  }

  void AddOp(OpDef def) {
    def.infer = [](const InferContext&) {
      return std::vector<TensorType>{kType};
    };
    ops_.Add(std::move(def));
  }

  // Adds one node, named my_ and its op; it reads the previous node.
  NodeId Add(const std::string& op, Placement placement = Placement::kDevice) {
    NodeSpec spec = {.name = "my_" + op,
                     .op = op,
                     .outputs = {kType},
                     .placement = placement};
    if (graph_.num_nodes() > 0) {
      spec.inputs = {graph_.output(NodeId(graph_.num_nodes() - 1))};
    }
    return graph_.AddNode(std::move(spec));
  }

  absl::StatusOr<KernelMap> Prepare(const PrepareOptions& options = {}) {
    return PrepareKernels(graph_, ops_, kernels_,
                          IdMap<NodeId, bool>(graph_.num_nodes(), true),
                          options);
  }

  OpRegistry ops_;
  KernelRegistry kernels_;
  Graph graph_;
};

TEST_F(KernelRegistryTest, FindsByOpAndKindOfDevice) {
  EXPECT_EQ(kernels_.Find("Double", DeviceKind::kCpu), &NewScratchKernel);
  EXPECT_EQ(kernels_.Find("Double", DeviceKind::kCuda), nullptr);
  EXPECT_EQ(kernels_.Find("Triple", DeviceKind::kCpu), nullptr);
}

TEST_F(KernelRegistryTest, RemembersTheFirstKernelThatItRefused) {
  EXPECT_THAT(kernels_.status(), IsOk());
  kernels_.Add("Double", DeviceKind::kCpu, RefuseDType);
  kernels_.Add("Other", DeviceKind::kCpu, nullptr);
  EXPECT_THAT(kernels_.status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "op Double has two kernels for cpu devices"));
  EXPECT_EQ(kernels_.Find("Double", DeviceKind::kCpu), NewScratchKernel);
  EXPECT_EQ(kernels_.Find("Other", DeviceKind::kCpu), nullptr);
  EXPECT_THAT(Prepare().status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("two kernels")));
}

TEST_F(KernelRegistryTest, FactoriesThatMisbehaveAreErrors) {
  kernels_.Add(
      "Thrower", DeviceKind::kCpu,
      [](const KernelRequest&) -> absl::StatusOr<std::unique_ptr<Kernel>> {
        throw std::runtime_error("planted");
      });
  kernels_.Add(
      "Empty", DeviceKind::kCpu,
      [](const KernelRequest&) -> absl::StatusOr<std::unique_ptr<Kernel>> {
        return nullptr;
      });
  kernels_.Add(
      "Negative", DeviceKind::kCpu,
      [](const KernelRequest&) -> absl::StatusOr<std::unique_ptr<Kernel>> {
        return std::make_unique<ScratchKernel>(-1);
      });
  const auto prepare = [&](const char* op) {
    AddOp({.name = op, .outputs = {"y"}});
    graph_ = Graph();
    Add(op);
    return Prepare().status();
  };
  EXPECT_THAT(
      prepare("Thrower"),
      StatusIs(kInternal, AllOf(HasSubstr("Thrower"), HasSubstr("planted"))));
  EXPECT_THAT(prepare("Empty"),
              StatusIs(kInternal, HasSubstr("op Empty made no kernel")));
  EXPECT_THAT(prepare("Negative"), StatusIs(kInternal, HasSubstr("-1 bytes")));
}

TEST_F(KernelRegistryTest, ResidentsFeedsCopiesAndAliasesNeedNoKernel) {
  Add("Placeholder");
  Add("SwapOut", Placement::kHost);
  Add("SwapIn", Placement::kHost);
  Add("Reshape");
  const NodeId doubled = Add("Double");
  const NodeId variable =
      graph_.AddNode({.name = "v", .op = "Variable", .outputs = {kType}});
  ASSERT_OK_AND_ASSIGN(const KernelMap kernels, Prepare());
  ASSERT_EQ(kernels.size(), graph_.num_nodes());
  for (const Node& node : graph_.nodes()) {
    EXPECT_EQ(kernels[node.id] != nullptr, node.id == doubled) << node.name;
  }
  EXPECT_EQ(kernels[variable], nullptr);
}

TEST_F(KernelRegistryTest, FactoriesSeeTypesAndThreads) {
  Add("Placeholder");
  const NodeId doubled = Add("Double");
  ASSERT_OK_AND_ASSIGN(const KernelMap kernels, Prepare({.threads = 3}));
  EXPECT_EQ(kernels[doubled]->workspace_bytes(), 3110);
}

TEST_F(KernelRegistryTest, KernelsTakeTheAlgorithmsThatAreNamed) {
  kernels_.Add("Update", DeviceKind::kCpu, NewTwoWaysKernel);
  Add("Placeholder");
  const NodeId first = Add("Update");
  const NodeId second = graph_.AddNode({.name = "second",
                                        .op = "Update",
                                        .inputs = {graph_.output(first)},
                                        .outputs = {kType}});
  AlgorithmNames names(graph_.num_nodes());
  names[second] = "small";
  ASSERT_OK_AND_ASSIGN(const KernelMap kernels, Prepare({.algorithms = names}));
  EXPECT_EQ(kernels[first]->algorithm(), "quick");
  EXPECT_EQ(kernels[second]->algorithm(), "small");
  ASSERT_OK_AND_ASSIGN(const ListedAlgorithms listed,
                       ListAlgorithms(graph_, kernels));
  EXPECT_TRUE(listed[NodeId(0)].empty());
  ASSERT_EQ(listed[second].size(), 2);
  EXPECT_EQ(listed[second][0].workspace_bytes, 100);
}

TEST_F(KernelRegistryTest, AnAlgorithmThatTheKernelLacksIsRefused) {
  kernels_.Add("Update", DeviceKind::kCpu, NewTwoWaysKernel);
  Add("Placeholder");
  const NodeId update = Add("Update");
  const NodeId doubled = Add("Double");
  for (const NodeId node : {update, doubled}) {
    AlgorithmNames names(graph_.num_nodes());
    names[node] = "winograd";
    EXPECT_THAT(Prepare({.algorithms = names}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(graph_.node(node).name),
                               HasSubstr("\"winograd\""))));
  }
}

TEST_F(KernelRegistryTest, NodesOutsideKeepArePassedOver) {
  Add("Placeholder");
  const NodeId unknown = Add("NoSuchOp");
  IdMap<NodeId, bool> keep(graph_.num_nodes(), true);
  keep[unknown] = false;
  ASSERT_OK_AND_ASSIGN(const KernelMap kernels,
                       PrepareKernels(graph_, ops_, kernels_, keep, {}));
  EXPECT_EQ(kernels[unknown], nullptr);
}

TEST_F(KernelRegistryTest, TheFirstNodeWithoutAKernelIsNamed) {
  Add("Placeholder");
  Add("Update");
  Add("NoSuchOp");
  EXPECT_THAT(Prepare(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("my_Update"), HasSubstr("cpu"))));
}

TEST_F(KernelRegistryTest, AnOpThatIsNotRegisteredCanOnlyBePlanned) {
  Add("Placeholder");
  Add("NoSuchOp");
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kUnimplemented,
                                  AllOf(HasSubstr("my_NoSuchOp"),
                                        HasSubstr("simulated"))));
}

TEST_F(KernelRegistryTest, NodesOnTheHostHaveTheKernelsOfTheCpu) {
  Add("Placeholder");
  const NodeId doubled = Add("Double", Placement::kHost);
  ASSERT_OK_AND_ASSIGN(const KernelMap kernels,
                       Prepare({.kind = DeviceKind::kCuda}));
  EXPECT_NE(kernels[doubled], nullptr);
  Add("Picky");
  EXPECT_THAT(Prepare({.kind = DeviceKind::kCuda}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("cuda")));
}

TEST_F(KernelRegistryTest, AllowMissingLeavesTheseNodesNull) {
  Add("Placeholder");
  Add("Update");
  Add("NoSuchOp");
  Add("Picky");
  ASSERT_OK_AND_ASSIGN(const KernelMap kernels,
                       Prepare({.allow_missing = true}));
  for (const std::unique_ptr<Kernel>& kernel : kernels) {
    EXPECT_EQ(kernel, nullptr);
  }
}

TEST_F(KernelRegistryTest, WhatAFactorySaysComesWithTheNodesName) {
  kernels_.Add("Update", DeviceKind::kCpu, FailInLibrary);
  Add("Placeholder");
  Add("Update");
  for (const bool allow_missing : {false, true}) {
    EXPECT_THAT(
        Prepare({.allow_missing = allow_missing}),
        StatusIs(absl::StatusCode::kInternal, "my_Update: library failed"));
  }
}

TEST_F(KernelRegistryTest, WorkspaceIsTheKernelsElseWhatTheGraphStates) {
  const NodeId feed = Add("Placeholder");
  const NodeId doubled = Add("Double");
  const NodeId stated =
      graph_.AddNode({.name = "stated",
                      .op = "NoSuchOp",
                      .outputs = {kType},
                      .cost = StatedCost{.workspace_bytes = 77}});
  ASSERT_OK_AND_ASSIGN(const KernelMap kernels,
                       Prepare({.allow_missing = true}));
  const IdMap<NodeId, int64_t> bytes = WorkspaceBytes(graph_, kernels);
  EXPECT_EQ(bytes[feed], 0);
  EXPECT_EQ(bytes[doubled], 1110);
  EXPECT_EQ(bytes[stated], 77);
}

}  // namespace
}  // namespace spillway
