#include "graph/index_limits.h"

#include <fmt/format.h>

#include <exception>

#include "base/status_macros.h"

namespace spillway {
namespace {

bool CanIndex(DType dtype) {
  return dtype == DType::kInt32 || dtype == DType::kInt64 ||
         dtype == DType::kUInt8;
}

// Calls the op's own function, which may be user code.
absl::StatusOr<int64_t> CallLimit(const IndexInput& index,
                                  const InferContext& node) {
  try {
    return index.limit(node);
  } catch (const std::exception& error) {
    return Internal(fmt::format("the limit function threw: {}", error.what()));
  } catch (...) {
    return Internal("the limit function threw");
  }
}

absl::StatusOr<IndexLimit> LimitOf(const IndexInput& index,
                                   const InferContext& node) {
  const auto input = static_cast<size_t>(index.input);
  if (!CanIndex(node.inputs[input].dtype)) {
    return InvalidArgument(
        fmt::format("indices must be int32, int64 or uint8, not {}",
                    DTypeName(node.inputs[input].dtype)));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t limit, CallLimit(index, node));
  if (limit > 0) return IndexLimit{.input = input, .limit = limit};
  return InvalidArgument(fmt::format(
      "the limit of an index must be positive; the op says {}", limit));
}

}  // namespace

absl::StatusOr<std::vector<IndexLimit>> IndexLimits(const OpDef& def,
                                                    const InferContext& node) {
  std::vector<IndexLimit> limits;
  for (const IndexInput& index : def.index_inputs) {
    const auto input = static_cast<size_t>(index.input);
    if (input >= node.inputs.size()) continue;
    const absl::StatusOr<IndexLimit> limit = LimitOf(index, node);
    if (!limit.ok()) {
      return Annotate(limit.status(),
                      fmt::format("{}'s {}", def.name, def.inputs[input]));
    }
    limits.push_back(*limit);
  }
  return limits;
}

}  // namespace spillway
