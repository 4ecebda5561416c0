// A small convolutional network for images of any size, as buckets.
#ifndef SPILLWAY_TESTS_TUNER_BUCKETS_BUCKET_NET_H_
#define SPILLWAY_TESTS_TUNER_BUCKETS_BUCKET_NET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "executor/tensor.h"
#include "graph/graph.h"
#include "training/optimizer.h"
#include "tuner/buckets/bucketed_session.h"
#include "tuner/step_options.h"

namespace spillway::testing {

struct BucketNet {
  int64_t batch = 4;
  Optimizer optimizer = Momentum{.learning_rate = 0.05};
  // Buckets whose first size is a multiple of this have a constant that the
  // others lack; 0: none has.
  int64_t constant_every = 0;
};

// The training step for images of key[0] x key[1]: convolutions, batch norm,
// dropout and a mean over the image, so that no variable depends on the key.
// Inputs: images, labels. Fetches: the loss.
absl::StatusOr<Program> BuildBucketNet(const BucketNet& net,
                                       const BucketKey& key);

// Feeds of BuildBucketNet, a function of key and seed, by name.
std::map<std::string, HostTensor> BucketFeeds(const BucketNet& net,
                                              const BucketKey& key,
                                              uint64_t seed);
// Borrow the tensors.
NamedFeeds FeedsByName(const std::map<std::string, HostTensor>& tensors);
Feeds FeedsByValue(const Graph& graph,
                   const std::map<std::string, HostTensor>& tensors);

// One thread of the cpu, kernels' first algorithms, an assumed machine.
StepOptions BucketOptions(std::optional<int64_t> device_memory = {});

// Device memory of the bucket by itself without swaps; 0 after an error.
int64_t UnswappedBucketBytes(const BucketNet& net, const BucketKey& key);

struct BucketTraining {
  std::vector<float> losses = {};
  std::map<std::string, HostTensor> variables = {};
};

// Runs step i with keys[i] and feeds of seed i.
absl::StatusOr<BucketTraining> TrainBuckets(BucketedSession& session,
                                            const BucketNet& net,
                                            const std::vector<BucketKey>& keys);

// The same by one session that has all programs from the start.
absl::StatusOr<BucketTraining> TrainAllPrograms(
    const BucketNet& net, const std::vector<BucketKey>& keys,
    const StepOptions& options);

// The same by a session for each key, between which the variables are copied.
absl::StatusOr<BucketTraining> TrainByCopies(const BucketNet& net,
                                             const std::vector<BucketKey>& keys,
                                             const StepOptions& options);

// Bitwise.
void ExpectSameTraining(const BucketTraining& got,
                        const BucketTraining& expected);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TUNER_BUCKETS_BUCKET_NET_H_
