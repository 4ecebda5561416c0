// What to do about a model that is too large for the device, and what each
// remedy costs, by prediction: swapping, recomputing, both, nodes on the host
// (lms/placement/place_on_host.h), or smaller batches whose gradients are added
// up.
//
// The question is asked in the order of the guide of Apache SystemML: is a
// single op too large; does the model not fit even with one row; does it fit
// with a smaller batch?
#ifndef SPILLWAY_TUNER_WHAT_IF_REMEDIES_H_
#define SPILLWAY_TUNER_WHAT_IF_REMEDIES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "tuner/step_options.h"

namespace spillway {

enum class RemedyCase : uint8_t {
  kNothing,     // the step fits as it is
  kPlacement,   // one op alone does not fit: it has to run on the host, or
                // smaller batches must make it smaller
  kEviction,    // it does not fit with one row, though each op does
  kSmallBatch,  // it fits with a smaller batch
};
// "nothing", "placement", "eviction", "small_batch".
std::string_view RemedyCaseName(RemedyCase found);

struct RemedySpec {
  int64_t batch_size = 1;  // rows of an update
  // The training step of `rows` rows.
  std::function<absl::StatusOr<Program>(int64_t rows)> step = {};
  // The programs of an update by micro-batches of `rows` rows: one micro-batch,
  // then the update (training/loop/training_programs.h).
  std::function<absl::StatusOr<std::vector<Program>>(int64_t rows)> grouped =
      {};
  // Variables that only the update has.
  std::vector<std::string> own_variables = {};
};

// An update of batch_size rows, one way.
struct Remedy {
  std::string name = {};  // "swapping", "looped_minibatch 4 x 16"
  absl::Status fits = {};
  int64_t device_bytes = 0;  // if it fits
  int64_t update_ns = 0;     // the same
  // Of accumulation: micro-batches, their rows, and whether they fit without
  // swapping and recomputing.
  int64_t micro_batches = 1;
  int64_t rows = 0;
  bool is_plain = false;
};

struct Remedies {
  RemedyCase found = RemedyCase::kNothing;
  int64_t budget_bytes = 0;
  std::string largest_node = {};   // of the step of all rows
  int64_t largest_node_bytes = 0;  // its inputs, outputs and workspace, and
                                   // the variables
  int64_t step_bytes = 0;          // of that step, without any remedy
  int64_t step_ns = 0;             // the same, on a device with enough memory
  int64_t one_row_bytes = 0;       // of a step of one row, the same
  std::vector<Remedy> remedies = {};  // empty with kNothing
};

// `options`: with a device budget or the profile of a machine. Runs nothing.
// Errors: INVALID_ARGUMENT naming the option; those of the spec's functions.
absl::StatusOr<Remedies> ExplainRemedies(const RemedySpec& spec,
                                         const StepOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_WHAT_IF_REMEDIES_H_
