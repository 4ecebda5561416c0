// Random small trainable networks: equal seeds give equal networks.
#ifndef SPILLWAY_TESTS_SUPPORT_RANDOM_NETWORK_H_
#define SPILLWAY_TESTS_SUPPORT_RANDOM_NETWORK_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace spillway::testing {

struct RandomNetwork {
  Graph graph = {};  // a training step; its feeds are its Placeholders
  ValueId loss = {};
  int64_t num_classes = 0;
};

// 2 to 10 random blocks (convolutions with and without bias, batch norm, pools,
// residual and parallel branches, dropout, local response norm) over small
// images, with one of the optimizers. `activations`: their dtype; nothing:
// float32 or, in 30 % of the networks, bfloat16. oneDNN needs AVX-512 for
// bfloat16; on a CPU without it, these networks are float32.
absl::StatusOr<RandomNetwork> MakeRandomNetwork(
    uint64_t seed, std::optional<DType> activations = std::nullopt);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_RANDOM_NETWORK_H_
