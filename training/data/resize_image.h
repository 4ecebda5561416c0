// Cuts a part out of an image and resizes it.
//
// Bilinear: each output pixel is a weighted mean of the input pixels around its
// centre, (i + 0.5) * input / output, with triangular weights. The triangle
// reaches 1 input pixel to each side, or input / output where that is more, so
// that shrinking uses every pixel of the input. Pixels outside of the input
// have no weight. Equal sizes copy the pixels.
#ifndef SPILLWAY_TRAINING_DATA_RESIZE_IMAGE_H_
#define SPILLWAY_TRAINING_DATA_RESIZE_IMAGE_H_

#include <cstdint>

#include "training/data/rgb_image.h"

namespace spillway {

// Rows [top, top + height) and columns [left, left + width), in pixels.
struct Rectangle {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;

  friend bool operator==(const Rectangle&, const Rectangle&) = default;
};

// The part `source` of an image, resized to `height` x `width`, of which
// `window` is kept:
//
//   image            source, resized          result
//   +-----------+    +----------+ height
//   | +------+  |    |   +------|-+           +--------+
//   | |source|  | -> |   |window| |  ->       |      ##|  # black: the window
//   | +------+  |    +---|------+ |           |      ##|    leaves the resized
//   +-----------+        +--------+           |########|    source
//                        width                +--------+
struct Crop {
  Rectangle source = {};  // not empty, inside the image
  int64_t height = 0;     // of the resized source, at least 1
  int64_t width = 0;
  Rectangle window = {};  // in the resized source; may leave it
  bool flip = false;      // mirrors the result: left becomes right

  friend bool operator==(const Crop&, const Crop&) = default;
};

// The result has the size of the window. Values are rounded to the nearest
// integer. Cost: O(pixels of the source under the window, or of the window, if
// those are more) time; a row of the source as float in memory.
RgbImage ResizeImage(const RgbImage& image, const Crop& crop);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_RESIZE_IMAGE_H_
