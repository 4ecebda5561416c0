// Op name -> OpDef, ordered by name. Built once from an explicit list (see
// ops/all_ops.h); read-only afterwards.
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

  // An invalid schema (no name, `infer` or outputs; a name that is already
  // registered; inputs, pairs, slots or indices that contradict each other) is
  // left out, and the registry remembers the first error.
  void Add(OpDef def);
  // The first error of Add, INVALID_ARGUMENT naming the op; VerifyGraph and
  // sessions check it.
  const absl::Status& status() const { return status_; }

  // Null for an op that is not registered (a plan-only op). The pointer is
  // valid for the lifetime of the registry. Cost: O(1).
  const OpDef* Find(std::string_view op) const;

  const std::map<std::string, OpDef, std::less<>>& ops() const { return ops_; }

 private:
  void MakeIndex();

  std::map<std::string, OpDef, std::less<>> ops_;
  // A hash index for Find, which is called often for large graphs. Names and
  // schemas are those of ops_.
  std::unordered_map<std::string_view, const OpDef*> index_;
  absl::Status status_;
};

// Checks one node against its op: number of inputs, attribute names, shapes,
// index_inputs. Returns the output types. Errors: INVALID_ARGUMENT; INTERNAL if
// a function of the op throws, or returns no types or too many.
absl::StatusOr<std::vector<TensorType>> InferOutputs(
    const OpDef& def, const InferContext& context);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_OP_REGISTRY_H_
