// Names of the ops and nodes that passes and the executor treat specially.
#ifndef SPILLWAY_GRAPH_WELL_KNOWN_OPS_H_
#define SPILLWAY_GRAPH_WELL_KNOWN_OPS_H_

#include <string_view>

namespace spillway {

inline constexpr std::string_view kPlaceholder = "Placeholder";
inline constexpr std::string_view kVariable = "Variable";
inline constexpr std::string_view kConst = "Const";
inline constexpr std::string_view kSwapOut = "SwapOut";
inline constexpr std::string_view kSwapIn = "SwapIn";
inline constexpr std::string_view kSlice = "Slice";
inline constexpr std::string_view kConcat = "Concat";
inline constexpr std::string_view kConcatInto = "ConcatInto";
// Between nodes on the host and on the device (lms/placement/place_on_host.h).
inline constexpr std::string_view kCopyToHost = "CopyToHost";
inline constexpr std::string_view kCopyToDevice = "CopyToDevice";

// Ops whose output is a copy of their input in the other memory.
inline bool CopiesToHost(std::string_view op) {
  return op == kSwapOut || op == kCopyToHost;
}
inline bool CopiesToDevice(std::string_view op) {
  return op == kSwapIn || op == kCopyToDevice;
}

// Ops that all ranks of a run compute together (comm/communicator.h). They run
// on the communication lane.
inline constexpr std::string_view kAllReduce = "AllReduce";
inline constexpr std::string_view kAllReduceInTurn = "AllReduceInTurn";
inline constexpr std::string_view kSparseAllReduce = "SparseAllReduce";
inline constexpr std::string_view kErrorFeedbackAllReduce =
    "ErrorFeedbackAllReduce";
inline bool IsCollective(std::string_view op) {
  return op == kAllReduce || op == kAllReduceInTurn || op == kSparseAllReduce ||
         op == kErrorFeedbackAllReduce;
}

// How the names of clones begin: nodes that compute the values of other nodes a
// second time (lms/recompute/recompute_plan.h).
inline constexpr std::string_view kClonePrefix = "lms/recompute_";

inline bool IsCloneName(std::string_view name) {
  return name.starts_with(kClonePrefix);
}

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_WELL_KNOWN_OPS_H_
