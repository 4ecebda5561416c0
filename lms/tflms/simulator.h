// The memory simulator of TFLMS version 2: the memory of a step with given
// values of its four parameters, as the original computes it. Kept for
// comparison; for the memory that Spillway needs, compile the step
// (executor/plan) and simulate the plan.
//
// Nodes run one by one, level by level, by id. A tensor is created by its node
// and freed after its last reader; a swapped tensor is freed after its last
// near reader, and its copy comes back after the node that starts the swap-in:
//
//          F1  F2  F3  F4  B4  B3  B2  B1        Tensors of 1 GiB take 4 GiB
//    F1    ######                  ######        with B3, but 5 GiB with B4
//    F2        ######          ######            without swaps.
//    F3            ######  ######                F1 comes back when B3 is done,
//    F4                ######                    two levels before B1.
//    B4                    ######
//    B3                        ######            ...
//
// As in the original, only tensors count, at their exact size: no workspaces of
// kernels, no optimizer slots, no alignment, no fragmentation, no buffer shared
// by two tensors, and no time: a copy finishes at once. Two errors of the
// original are reproduced: variables that a node reads are counted although the
// capacity already excludes them; and if nothing starts a swap-in (no trigger,
// or one that has run before), the reader brings the tensor back for all its
// readers, so that it often stays to the end.
// Source: as lms/v2/plan_swaps.h.
#ifndef SPILLWAY_LMS_TFLMS_SIMULATOR_H_
#define SPILLWAY_LMS_TFLMS_SIMULATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/storage.h"
#include "lms/edit_view.h"
#include "lms/options.h"
#include "lms/tflms/limits.h"
#include "lms/v2/graph.h"
#include "lms/v2/sync.h"

namespace spillway {

// The parameters of version 2, as in LmsOptions; none is -1.
struct TflmsSet {
  int64_t swapout_threshold = 1;
  int64_t swapin_ahead = 1;
  int64_t swapin_groupby = 0;
  int64_t sync_mode = 0;

  friend bool operator==(const TflmsSet&, const TflmsSet&) = default;
};

// `options` with version 2 and these parameters.
LmsOptions WithSet(LmsOptions options, const TflmsSet& set);

// The result of one simulated step. The step is simulated to its end even if a
// tensor did not fit, so that the peaks are those of the whole step.
struct TflmsPlay {
  bool passed = true;  // every tensor was smaller than the free bytes
  int64_t peak_device_bytes = 0;
  int64_t peak_host_bytes = 0;
  bool host_warning = false;  // a copy did not fit on the host
  // For the first tensor that did not fit: the node that ran, and the tensor.
  NodeId failed_node = {};
  ValueId failed_value = {};
  // Swap-ins without a trigger, although they should start ahead.
  int64_t missing_triggers = 0;
};

class TflmsSimulator {
 public:
  // Of `options` only those that are not parameters are used: filters, sizes,
  // serialization, compat. `graph` is borrowed. Errors: INVALID_ARGUMENT for
  // limits and options out of range and for loops ("while/"), which the
  // simulator does not support; FAILED_PRECONDITION for a graph that has swaps;
  // RESOURCE_EXHAUSTED if variables take the whole device.
  static absl::StatusOr<std::unique_ptr<TflmsSimulator>> Create(
      const LmsOptions& options, const TflmsLimits& limits, const Graph& graph);

  TflmsSimulator(const TflmsSimulator&) = delete;
  TflmsSimulator& operator=(const TflmsSimulator&) = delete;

  // Cost: linear in nodes and edges, plus the search for triggers
  // (lms/v2/sync.h), which runs once for each `swapin_ahead`.
  TflmsPlay Play(const TflmsSet& set);

  const TflmsLimits& limits() const { return limits_; }
  // CapacityBytes of the limits.
  int64_t capacity_bytes() const { return capacity_bytes_; }
  int32_t num_levels() const { return v2_.levels.num_levels(); }

 private:
  class Step;  // simulates one step

  // The search for triggers for one `swapin_ahead`.
  struct AheadSearch {
    AheadSearch(int64_t ahead, const TflmsSimulator& simulator);

    const LmsOptions options;
    TriggerSearch search;
  };

  TflmsSimulator(const LmsOptions& options, const TflmsLimits& limits,
                 int64_t capacity_bytes, V2Graph v2);

  NodeId FindTrigger(int64_t ahead, NodeId source, NodeId reader);

  const LmsOptions options_;
  const TflmsLimits limits_;
  const V2Graph v2_;
  const EditView view_;        // without swaps
  const StorageMap storages_;  // no shared bytes: the original ignores aliases
  const int64_t capacity_bytes_;
  // The values that each node reads, each once, by id: the values of node i
  // begin at first_input_[i] in inputs_.
  std::vector<size_t> first_input_;
  std::vector<ValueId> inputs_;
  IdMap<ValueId, int64_t> num_readers_;
  IdMap<ValueId, int64_t> num_device_readers_;  // active ones
  std::map<int64_t, AheadSearch> searches_;
};

}  // namespace spillway

#endif  // SPILLWAY_LMS_TFLMS_SIMULATOR_H_
