// Op name -> OpDef, ordered by name. Built once from an explicit list (see
// ops/all_ops.h) and then only read.
#ifndef SPILLWAY_GRAPH_OP_REGISTRY_H_
#define SPILLWAY_GRAPH_OP_REGISTRY_H_

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/status/status.h"
#include "graph/op_def.h"

namespace spillway {

class OpRegistry {
 public:
  OpRegistry() = default;
  OpRegistry(const OpRegistry& other);
  OpRegistry(OpRegistry&& other) = default;
  OpRegistry& operator=(OpRegistry other);
  ~OpRegistry() = default;

  // A schema that cannot be (no name, `infer` or outputs, a name that is there
  // already, inputs, pairs, slots or indices that do not fit together) is left
  // out, and the registry remembers the first error.
  void Add(OpDef def);
  // The first error of Add, INVALID_ARGUMENT naming the op; VerifyGraph and
  // sessions check it.
  const absl::Status& status() const { return status_; }

  // Null for an op that is not registered (a plan-only op). The pointer lives
  // as the registry. Cost: O(1).
  const OpDef* Find(std::string_view op) const;

  const std::map<std::string, OpDef, std::less<>>& ops() const { return ops_; }

 private:
  void MakeIndex();

  std::map<std::string, OpDef, std::less<>> ops_;
  // The same for Find, which graphs of many nodes call often. Names and schemas
  // are those of ops_.
  std::unordered_map<std::string_view, const OpDef*> index_;
  absl::Status status_;
};

// Checks one node against its op: number of inputs, attribute names, shapes,
// index_inputs; returns the output types. Errors: INVALID_ARGUMENT; INTERNAL
// for a function of the op that throws or returns no types or too many.
absl::StatusOr<std::vector<TensorType>> InferOutputs(
    const OpDef& def, const InferContext& context);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_OP_REGISTRY_H_
