// One number within limits. A plain function, usable in CUDA sources too.
#ifndef SPILLWAY_OPS_COMMON_CLIP_H_
#define SPILLWAY_OPS_COMMON_CLIP_H_

namespace spillway {

// x, but at least -limit and at most limit; NaN stays.
constexpr float Clipped(float x, float limit) {
  const float low = x < -limit ? -limit : x;
  return low > limit ? limit : low;
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_CLIP_H_
