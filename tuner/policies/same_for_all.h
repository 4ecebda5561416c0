// Policies that give all tensors the same fate.
//
// keep_all is what every framework does without large-model support. swap_all
// is PyTorch's `torch.autograd.graph.save_on_cpu` (github.com/pytorch/pytorch,
// torch/autograd/graph.py), which copies every saved tensor to the host, for
// all tensors instead of the saved ones. recompute_all is the floor of memory
// of Chen et al., "Training Deep Nets with Sublinear Memory Cost"
// (arXiv 1604.06174, section 4): each tensor is computed again from the fed
// ones for each step that reads it after a gap.
//
// Approximated: the copies of swap_all overlap with kernels and come back early
// enough, as far as memory and link allow. PyTorch waits for each of them.
#ifndef SPILLWAY_TUNER_POLICIES_SAME_FOR_ALL_H_
#define SPILLWAY_TUNER_POLICIES_SAME_FOR_ALL_H_

#include <cstdint>
#include <optional>

#include "tuner/model/materialize.h"
#include "tuner/model/recompute_space.h"

namespace spillway {

// These fates do not depend on the budget and always exist.
std::optional<Fates> KeepAllFates(const RecomputeSpace& space,
                                  int64_t budget_bytes);
// Every gap that can be moved.
std::optional<Fates> SwapAllFates(const RecomputeSpace& space,
                                  int64_t budget_bytes);
// Every gap that a clone can bridge. What a chain of clones makes on the way is
// released again, so the chains of a step with n nodes may have n^2 / 2 clones.
std::optional<Fates> RecomputeAllFates(const RecomputeSpace& space,
                                       int64_t budget_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_SAME_FOR_ALL_H_
