// A synthetic data set in MNIST's format: small, learnable, deterministic.
#ifndef SPILLWAY_TESTS_TOOLS_TINY_DATA_H_
#define SPILLWAY_TESTS_TOOLS_TINY_DATA_H_

#include <cstdint>
#include <string>

namespace spillway::testing {

struct TinyData {
  uint32_t training_images = 96;
  uint32_t test_images = 40;
  uint32_t image_size = 12;
};

// Writes the four IDX files to `folder`. Image i has the label i % 10: a bright
// row at that height, on noise.
void WriteTinyData(const std::string& folder, const TinyData& data = {});

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TOOLS_TINY_DATA_H_
