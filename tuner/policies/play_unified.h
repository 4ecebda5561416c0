// Plays a step with CUDA's unified memory: pages are moved when a kernel
// touches them, and the least recently touched page leaves. Sources: CUDA C++
// Programming Guide, "Unified Memory Programming"; Allen and Ge, "In-Depth
// Analyses of Unified Virtual Memory System for GPU Accelerated Computing" (SC
// 2021), for pages of 64 KiB and blocks of 2 MiB.
//
// A kernel touches its inputs, then its outputs, each from the first page to
// the last. A page is on the device or on the host, never on both, so each page
// that leaves is copied. A page that was never written, or is dead, has no
// bytes to copy. A kernel that touches more pages than there are still runs.
// Nothing overlaps: the kernel waits for its faults.
//
// Approximated: each page is one copy with the link's time for its bytes; the
// driver's time for a fault itself is left out, which favours this policy.
// Variables stay on the device for all policies.
#ifndef SPILLWAY_TUNER_POLICIES_PLAY_UNIFIED_H_
#define SPILLWAY_TUNER_POLICIES_PLAY_UNIFIED_H_

#include <cstdint>

#include "tuner/policies/played_policy.h"

namespace spillway {

// Evictions name each run of pages of one storage as one. The step fits if
// there is room for one page beside the residents. Deterministic. Cost:
// O(pages touched).
PlayedPolicy PlayUnified(const RuntimeStep& step, int64_t page_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_PLAY_UNIFIED_H_
