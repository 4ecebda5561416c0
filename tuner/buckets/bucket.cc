#include "tuner/buckets/bucket.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "executor/guarded_call.h"
#include "executor/session/plan_programs.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "graph/well_known_ops.h"
#include "tuner/prepare_step.h"

namespace spillway {
namespace {

// Borrows the graph.
using TypesByName = std::map<std::string_view, const TensorType*>;

TypesByName VariablesOf(const Program& program, const OpRegistry& ops) {
  const Graph& graph = program.graph;
  const IdMap<NodeId, bool> keep = NodesToRun(graph, ops, program.fetches);
  TypesByName types;
  for (const Node& node : graph.nodes()) {
    if (node.op != kVariable || !keep[node.id]) continue;
    types[node.name] = &graph.type(node.outputs[0]);
  }
  return types;
}

TypesByName InputsOfProgram(const Program& program) {
  const Graph& graph = program.graph;
  TypesByName types;
  for (const Node& node : graph.nodes()) {
    if (node.op != kPlaceholder) continue;
    types[node.name] = &graph.type(node.outputs[0]);
  }
  return types;
}

std::string NamesOf(const TypesByName& types) {
  std::vector<std::string> names;
  for (const auto& [name, type] : types) names.emplace_back(name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

bool IsBatchInput(const ShapeBucketSpec& spec, std::string_view name) {
  return !spec.batch_inputs || std::ranges::count(*spec.batch_inputs, name) > 0;
}

absl::Status CheckVariables(const StepOptions& options, const Bucket& bucket,
                            const Bucket& default_bucket) {
  const TypesByName known = VariablesOf(default_bucket.program, *options.ops);
  std::vector<std::string> missing;
  for (const auto& [name, type] : VariablesOf(bucket.program, *options.ops)) {
    const auto found = known.find(name);
    if (found == known.end()) {
      if (!IsOwnVariable(name, options.own_variables)) {
        missing.emplace_back(name);
      }
    } else if (*found->second != *type) {
      return InvalidArgument(fmt::format(
          "{}: variable {} is {}, but {} in the default {}; the shape of a "
          "variable cannot depend on the key",
          BucketName(bucket.key), std::string(name), type->ToString(),
          found->second->ToString(), BucketName(default_bucket.key)));
    }
  }
  if (missing.empty()) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "{}: the default {} lacks its variables {}; take a default key whose "
      "program has the variables of all buckets",
      BucketName(bucket.key), BucketName(default_bucket.key),
      fmt::join(missing, ", ")));
}

absl::Status CheckInputs(const ShapeBucketSpec& spec, const Bucket& bucket,
                         const Bucket& default_bucket) {
  const TypesByName known = InputsOfProgram(default_bucket.program);
  for (const auto& [name, type] : InputsOfProgram(bucket.program)) {
    const auto found = known.find(name);
    if (found == known.end()) continue;
    const TensorType& expected = *found->second;
    const auto error = [&, &input = name,
                        &given = type](std::string_view what) {
      return InvalidArgument(fmt::format(
          "{}: {} is {}, but {} in the default {}; {} must be the same in all "
          "buckets",
          BucketName(bucket.key), std::string(input), given->ToString(),
          expected.ToString(), BucketName(default_bucket.key),
          std::string(what)));
    };
    if (type->dtype != expected.dtype) return error("the dtype");
    if (!IsBatchInput(spec, name)) continue;
    const int rank = type->shape.rank();
    const int expected_rank = expected.shape.rank();
    if (rank == 0 && expected_rank == 0) continue;
    if (rank == 0 || expected_rank == 0 ||
        type->shape.dim(0) != expected.shape.dim(0)) {
      return error(
          "the batch size (first dimension, ShapeBucketSpec::batch_inputs)");
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string BucketName(const BucketKey& key) {
  return fmt::format("bucket [{}]", fmt::join(key, ", "));
}

absl::StatusOr<Bucket> BuildBucket(const ShapeBucketSpec& spec,
                                   const BucketKey& key) {
  if (key.empty()) {
    return InvalidArgument("the key of a bucket is empty; it needs a size");
  }
  absl::StatusOr<Program> program =
      GuardedCall([&] { return spec.program_of(key); });
  if (!program.ok()) {
    return Annotate(program.status(),
                    fmt::format("program_of({})", BucketName(key)));
  }
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckUndecided(*program), BucketName(key)));
  return Bucket{.key = key, .program = *std::move(program)};
}

absl::Status CheckBatchInputs(const ShapeBucketSpec& spec,
                              const Bucket& default_bucket) {
  if (!spec.batch_inputs) return absl::OkStatus();
  for (const std::string& name : *spec.batch_inputs) {
    const absl::StatusOr<ValueId> input = FindInput(default_bucket, name);
    if (!input.ok()) return Annotate(input.status(), "batch_inputs");
    if (default_bucket.program.graph.type(*input).shape.rank() > 0) continue;
    return InvalidArgument(
        fmt::format("batch_inputs: {} is a scalar in the default {}", name,
                    BucketName(default_bucket.key)));
  }
  return absl::OkStatus();
}

absl::Status CheckMatches(const ShapeBucketSpec& spec,
                          const StepOptions& options, const Bucket& bucket,
                          const Bucket& default_bucket) {
  SPILLWAY_RETURN_IF_ERROR(CheckVariables(options, bucket, default_bucket));
  return CheckInputs(spec, bucket, default_bucket);
}

absl::StatusOr<ValueId> FindInput(const Bucket& bucket,
                                  const std::string& name) {
  const Graph& graph = bucket.program.graph;
  const std::optional<NodeId> node = graph.FindNode(name);
  if (node && graph.node(*node).op == kPlaceholder) return graph.output(*node);
  return InvalidArgument(fmt::format("{} has no input {}; its inputs are {}",
                                     BucketName(bucket.key), name,
                                     NamesOf(InputsOfProgram(bucket.program))));
}

}  // namespace spillway
