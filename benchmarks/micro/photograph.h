// Images that cost as much to decode as photographs do.
#ifndef SPILLWAY_BENCHMARKS_MICRO_PHOTOGRAPH_H_
#define SPILLWAY_BENCHMARKS_MICRO_PHOTOGRAPH_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "training/data/rgb_image.h"

namespace spillway {

// 375 x 500 pixels, as most of ImageNet's. A photograph has both: smooth
// surfaces, and noise that costs bits. Another one for each seed.
RgbImage Photograph(uint64_t seed);

// Writes `count` photographs for training, half of them as
// FOLDER/train/0/N.jpg, the others as FOLDER/train/1/N.jpg, and one of each
// class below FOLDER/val: an ImageFolder (training/data/image_folder.h).
// Errors: those of the file system.
absl::Status WritePhotographs(const std::string& folder, int64_t count);

}  // namespace spillway

#endif  // SPILLWAY_BENCHMARKS_MICRO_PHOTOGRAPH_H_
