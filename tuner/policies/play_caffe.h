// Plays a step with the large-model support of IBM's Caffe (PowerAI; closed
// source, described in IBM's "Getting started with Caffe"): each chunk of
// memory above a size threshold may be moved to the host, and is fetched back
// when a layer uses it. What a layer uses is on the device while it runs;
// smaller chunks always are. The chunks on the device are a cache with a limit.
//
// Approximated: IBM does not say which chunk leaves. Here it is the least
// recently used one, and it is copied only if the host has other bytes. Nothing
// overlaps, since IBM does not say that anything does. Variables stay on the
// device for all policies. Bytes are counted, not placed.
#ifndef SPILLWAY_TUNER_POLICIES_PLAY_CAFFE_H_
#define SPILLWAY_TUNER_POLICIES_PLAY_CAFFE_H_

#include <cstdint>

#include "tuner/policies/played_policy.h"

namespace spillway {

struct CaffeOptions {
  // -lms_size_threshold, 1000 KB: smaller chunks are never moved.
  int64_t size_threshold_bytes = 1'024'000;
  // -lms_exclude: the cache should leave this much of the device free. A soft
  // limit: a layer that needs more takes it.
  int64_t exclude_bytes = 0;
};

// Deterministic. Cost: O(slots + evictions * storages).
PlayedPolicy PlayCaffe(const RuntimeStep& step,
                       const CaffeOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_PLAY_CAFFE_H_
