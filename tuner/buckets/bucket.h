// Buckets of shapes: the programs of one network for several sizes of its
// input, which share variables (tuner/buckets/bucketed_session.h).
#ifndef SPILLWAY_TUNER_BUCKETS_BUCKET_H_
#define SPILLWAY_TUNER_BUCKETS_BUCKET_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "tuner/step_options.h"

namespace spillway {

// The sizes by which the programs differ: {32} for a sequence of 32 words,
// {224, 160} for images. Not empty.
using BucketKey = std::vector<int64_t>;

// "bucket [224, 160]".
std::string BucketName(const BucketKey& key);

struct ShapeBucketSpec {
  // Builds the program of a key, without swaps and order. Kept for the lifetime
  // of the session, and called when a bucket is planned. May throw.
  std::function<absl::StatusOr<Program>(const BucketKey& key)> program_of = {};
  // Its program has the variables of all others, apart from
  // StepOptions::own_variables.
  BucketKey default_key = {};
  // Planned when the session is created, in addition to the default; other keys
  // are planned when they are first used.
  std::vector<BucketKey> keys = {};
  // The placeholders whose first dimension is the batch size, which is the same
  // in all buckets; nullopt: all that have a dimension.
  std::optional<std::vector<std::string>> batch_inputs = {};
  // A bucket that needs more device memory than the arena has: true: is
  // refused; false: the arena grows, with a warning.
  bool strict = false;
};

struct Bucket {
  BucketKey key = {};
  Program program = {};  // as program_of returned it
};

// Calls spec.program_of and checks its program by itself. Errors:
// INVALID_ARGUMENT for an empty key; errors of program_of and CheckUndecided,
// all naming the key. An exception is RESOURCE_EXHAUSTED for std::bad_alloc,
// else INTERNAL.
absl::StatusOr<Bucket> BuildBucket(const ShapeBucketSpec& spec,
                                   const BucketKey& key);

// Errors: INVALID_ARGUMENT if spec.batch_inputs names no placeholder of the
// default bucket, or one without dimensions.
absl::Status CheckBatchInputs(const ShapeBucketSpec& spec,
                              const Bucket& default_bucket);

// Whether `bucket` can share variables and batches with the default bucket.
// Errors: INVALID_ARGUMENT naming the key, for variables that only `bucket` has
// (all of them), for a variable of another type (both types), and for a
// placeholder of the same name with another dtype or batch size (both types).
// Source of the rules: MXNet's DataParallelExecutorManager and
// BucketingModule, which take arguments by position and check less.
absl::Status CheckMatches(const ShapeBucketSpec& spec,
                          const StepOptions& options, const Bucket& bucket,
                          const Bucket& default_bucket);

// The placeholder called `name`. Errors: INVALID_ARGUMENT naming the key, with
// the names of all placeholders.
absl::StatusOr<ValueId> FindInput(const Bucket& bucket,
                                  const std::string& name);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_BUCKETS_BUCKET_H_
