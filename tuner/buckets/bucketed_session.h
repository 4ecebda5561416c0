// A session over buckets of shapes: programs of one network for several sizes
// of its input, sequence lengths or image sizes, say. All buckets update the
// same variables, which are bound by name and kept once, and run in one arena,
// whose size is the largest plan.
//
//   ShapeBucketSpec spec = {.program_of = BuildProgram,   //
//   StatusOr<Program>(key)
//                      .default_key = {64}, .keys = {{16}, {32}}};
//   SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<BucketedSession> session,
//                             BucketedSession::Create(spec, {.device =
//                             "cpu"}));
//   SPILLWAY_ASSIGN_OR_RETURN(
//       const BucketStep step,
//       session->Step({32}, {{"words", words}, {"labels", labels}}));
//   SPILLWAY_ASSIGN_OR_RETURN(const float loss, step.scalar(0));
//
// Each bucket is tuned by itself, within the same budget: a bucket that does
// not fit, swaps or recomputes, others do not. A bucket that is not planned
// ahead is planned on first use: its program alone is tuned, and a new session
// has all plans, with the same variables and step numbers.
//
//   arena  |#### bucket [16] |      |             |
//          |######## bucket [64], the default     |   first session
//          |############ bucket [96]                        |   next session
//           variables first, at the same offsets in all plans
//
// The old arena is released before the new one is allocated, so that together
// they never exceed the budget; meanwhile all variables are on the host, in
// addition to the swap pool. Growth is announced: one warning for each larger
// arena, or with ShapeBucketSpec::strict an error. (A new bucket's constants,
// scalars as a rule, are added without.)
//
// Results are bitwise identical to those of one session that had all programs
// from the start (CreateTunedSession), whatever the budget, unless
// StepOptions::algorithms is kAuto. Each bucket counts its own steps.
//
// Ranks with a communicator must use the same keys in the same order.
// Threads: one caller at a time.
// Source: bucketing of MXNet (BucketingModule, DataParallelExecutorManager),
// which shares arrays of the default bucket and reallocates larger ones.
#ifndef SPILLWAY_TUNER_BUCKETS_BUCKETED_SESSION_H_
#define SPILLWAY_TUNER_BUCKETS_BUCKETED_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/trace/timeline.h"
#include "executor/device/device.h"
#include "executor/session/plan_programs.h"
#include "executor/session/session.h"
#include "tuner/buckets/bucket.h"
#include "tuner/step_options.h"

namespace spillway {

// By the name of the placeholder.
using NamedFeeds = std::map<std::string, Feed, std::less<>>;

// The fetches of a step. `fetch` is a position in Program::fetches.
struct BucketStep {
  StepResult result = {};
  std::vector<ValueId> fetches = {};

  // Errors: INVALID_ARGUMENT for a position that does not exist; otherwise as
  // StepResult.
  absl::StatusOr<const HostTensor*> tensor(size_t fetch) const;
  absl::StatusOr<float> scalar(size_t fetch) const;
};

class BucketedSession {
 public:
  // Plans the default bucket and those of spec.keys, then opens the session.
  // `options` are those of every bucket; callbacks and what they borrow must
  // outlive the session. If the tuner needs a budget and none is given, it is
  // the device memory that is free now. Errors: INVALID_ARGUMENT for options
  // and specs that make no sense, and as BuildBucket, CheckBatchInputs and
  // CheckMatches; RESOURCE_EXHAUSTED naming a bucket that does not fit; errors
  // of TunePrograms and OpenSession.
  static absl::StatusOr<std::unique_ptr<BucketedSession>> Create(
      ShapeBucketSpec spec, const StepOptions& options);

  // The program of the key in session(), which this call plans on first use.
  // Errors: as Create for one bucket; with spec.strict, RESOURCE_EXHAUSTED with
  // the bytes needed and present; FAILED_PRECONDITION while the variables are
  // undefined. After an error, the bucket is not there, and all others can go
  // on with the same variables.
  absl::StatusOr<int> Open(const BucketKey& key);

  // Opens the bucket, then runs one step of it. Errors: as Open and
  // Session::Step; INVALID_ARGUMENT for a feed that the bucket does not have,
  // with the names of its inputs.
  absl::StatusOr<BucketStep> Step(const BucketKey& key, const NamedFeeds& feeds,
                                  Timeline* timeline = nullptr);

  // The keys of the planned buckets: key i is that of program i in session().
  std::vector<BucketKey> keys() const;

  // For variables, step numbers, plans and memory; valid until the next bucket
  // is planned. A checkpoint is loaded by a session with the same default key
  // and keys as keys(). Errors: only if an earlier Open could neither open the
  // new session nor the old one again: this call tries once more to open the
  // old one, with the variables kept on the host meanwhile.
  absl::StatusOr<Session*> session();

 private:
  // A bucket with its swaps and order.
  struct TunedBucket {
    Bucket bucket = {};
    Program tuned = {};
  };
  // What a session has that its plans do not tell.
  struct SessionState {
    std::map<std::string, HostTensor> variables = {};
    std::vector<int64_t> step_numbers = {};  // by program
  };

  BucketedSession(ShapeBucketSpec spec, const StepOptions& options);

  absl::Status OpenFirst();
  std::optional<int> Find(const BucketKey& key) const;
  absl::Status Add(const BucketKey& key);
  absl::Status Tune(std::vector<TunedBucket>& buckets, size_t first);
  absl::StatusOr<PlannedPrograms> Plan(
      const std::vector<TunedBucket>& buckets) const;
  absl::Status AnnounceGrowth(const BucketKey& key,
                              const PlannedPrograms& planned);
  absl::Status Replace(std::vector<TunedBucket> buckets,
                       PlannedPrograms planned);
  absl::Status Resume(PlannedPrograms planned);

  const ShapeBucketSpec spec_;
  StepOptions options_;
  DeviceKind kind_ = DeviceKind::kCpu;
  std::vector<TunedBucket> buckets_;  // the first is the default
  std::unique_ptr<Session> session_;  // null while `state_` is all there is
  std::optional<SessionState> state_;
  std::set<BucketKey> announced_;  // for which the arena was to grow
};

}  // namespace spillway

#endif  // SPILLWAY_TUNER_BUCKETS_BUCKETED_SESSION_H_
