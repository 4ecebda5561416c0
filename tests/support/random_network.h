// Random small networks that can be trained: the same seed makes the same one.
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
// images, with one of the optimizers. `activations`: their dtype; none: float32
// or, in three networks of ten, bfloat16, for which oneDNN needs AVX-512: on a
// CPU without, these are float32.
absl::StatusOr<RandomNetwork> MakeRandomNetwork(
    uint64_t seed, std::optional<DType> activations = std::nullopt);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_RANDOM_NETWORK_H_
