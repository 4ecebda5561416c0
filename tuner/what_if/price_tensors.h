// Explains the tuner's choice tensor by tensor: what each of its fates would
// cost, and what limits it.
#ifndef SPILLWAY_TUNER_WHAT_IF_PRICE_TENSORS_H_
#define SPILLWAY_TUNER_WHAT_IF_PRICE_TENSORS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tuner/fates/fate_prices.h"
#include "tuner/model/evaluate.h"
#include "tuner/tune.h"

namespace spillway {

// A time between two uses of a tensor, in the step that the tuner played
// (tuner/fates/joint_player.h).
struct TensorGap {
  Fate fate = Fate::kKept;
  std::string from = {};  // node that uses the tensor before
  std::string to = {};    // node that uses it next
  int64_t length_ns = 0;
  // The node in between that leaves the fewest bytes of the budget free, and
  // these bytes.
  std::string fullest = {};
  int64_t free_bytes = 0;
  // The parts of the length in which the link copies to the host and back,
  // whatever it copies; from 0 to 1.
  double busy_out = 0;
  double busy_in = 0;
  int64_t stall_ns = 0;  // of the kernels, for this tensor's copies
};

struct TensorPrice {
  std::string tensor = {};  // "conv1/Conv2D:0"
  int64_t bytes = 0;        // aligned
  Fate fate = Fate::kKept;  // in its longest gap
  // FatePrice::change_ns, of that gap.
  std::array<std::optional<int64_t>, 3> change_ns = {};
  std::vector<TensorGap> gaps = {};
};

struct PriceRequest {
  // Only these; empty: those of `most` tensors that are largest.
  std::vector<std::string> tensors = {};
  bool must_exist = true;  // false: names of other tensors are ignored
  size_t most = 20;
  // PriceOptions::plays; 0: as many as take some milliseconds.
  int64_t plays = 0;
};

// Empty if the tuner did not choose fates: if nothing has to leave the device,
// with a policy, with swaps alone or a set of TFLMS options. `spec`: that of
// the choice. Errors: NOT_FOUND for a name of request.tensors that is no tensor
// with a gap; as PreparePlan.
absl::StatusOr<std::vector<TensorPrice>> PriceTensors(
    const TuningSpec& spec, const EvaluatedRecipe& chosen,
    const PriceRequest& request);

// The same for a result of Tune. `program`: the tuned one.
absl::StatusOr<std::vector<TensorPrice>> PriceTensors(
    const Program& program, const TuneResult& result,
    const PriceRequest& request);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_WHAT_IF_PRICE_TENSORS_H_
