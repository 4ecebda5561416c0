// Log lines of TFLMS version 1's planning: warnings, and with a debug level the
// lines that the original writes.
#ifndef SPILLWAY_LMS_V1_NOTES_H_
#define SPILLWAY_LMS_V1_NOTES_H_

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "lms/options.h"
#include "lms/swap_plan.h"
#include "lms/v1/orders.h"

namespace spillway {

// Ownership: borrows all its arguments; appends to `log`. Text is formatted
// only for the levels that options.debug_level requests.
class V1Notes {
 public:
  // Writes the warnings, the starting ops and the orders.
  V1Notes(const LmsOptions& options, const Graph& graph, const V1Orders& orders,
          std::vector<LogLine>& log);

  void Visit(NodeId id);
  void Readers(std::span<const NodeId> readers);
  void Candidate(NodeId producer);
  void SwapOut(ValueId value);
  void SwapIn(ValueId value, const std::vector<NodeId>& readers);
  // Invalid `trigger`: none was found.
  void Trigger(NodeId producer, NodeId trigger);

 private:
  bool wants(int level) const { return options_.debug_level >= level; }
  void Add(int level, std::string text);
  void Warn();
  void Begin();

  const LmsOptions& options_;
  const Graph& graph_;
  const V1Orders& orders_;
  std::vector<LogLine>& log_;
};

}  // namespace spillway

#endif  // SPILLWAY_LMS_V1_NOTES_H_
