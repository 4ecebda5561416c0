// A lower bound on the time of every plan of a step within a budget that keeps,
// swaps or recomputes each tensor: the certificate of the joint planner.
//
// Premises. A plan runs the kernels of the model in their order, once each, on
// one compute lane. Clones, which compute a tensor of the model a second time
// from any inputs, run on the same lane anywhere after their original. Copies
// in each direction share one link. All readers read the values that they read
// in the model, or equal ones. Fetched tensors stay until the end.
//
// Three tests are able to prove that no plan takes at most T (joint_tests.h).
// The bound is found by bisection on T.
//
// Why they are right. Take any plan of at most T, and let C be the time of all
// kernels of the model, so clones take at most T - C together.
//
// 1. Absence. Let k be a kernel of the model, and G the gaps around it: tensors
//    that are used before and after k but not by k. At every moment of k, what
//    k reads, writes and works in, the residents and the tensors of G that are
//    at least partly on the device lie at different addresses. So tensors of G
//    with at least D bytes are absent, where D is
//      live bytes - in-place bytes - budget - padding.
//    In-place bytes are subtracted because in an edited graph an output of k
//    may overwrite an input whose later readers read a copy or a clone. The
//    alignment padding of all of G is subtracted because D counts exact bytes.
//    What else the plan has on the device (clones' outputs and workspaces,
//    tensors that came back early) only makes more tensors absent.
// 2. Return. Each tensor that is absent at the end of k and that a later kernel
//    reads comes back after k: by a copy, or by a clone. Let R be those that
//    come back by a clone, r their bytes. If r < D, then tensors with at least
//    s = D - r bytes that are absent at the end of k come back by copies. At
//    the start of k, too: clones do not run during k, so the tensors that are
//    absent at the start and come back by a clone are all in R. If no kernel
//    reads a tensor again, a clone that makes it counts no time.
// 3. Links. What is absent at the start of k and comes back by a copy left
//    before k started, and after it was written: its bytes were nowhere else
//    on the device. A feed need not leave, since its caller has the bytes. So
//    k cannot start before s bytes of G have left at the best rate of the
//    link, those that were written last at the end. After k, s bytes come back
//    at the best rate, those that are read first at the beginning. A copy of a
//    clone's output leaves later than a copy of the original's.
// 4. Compute. All clones for R run after k. Clones for different tensors of R
//    are different runs, unless one node makes several tensors: then its time
//    is on the largest, and the others are free. So the clones after k take at
//    least the least time in which items of G with r bytes can be computed,
//    relaxed to parts of items. The step ends no earlier than
//      end of k + kernels after k + clones for R.
// 5. Cut test (least_recomputed.h): 3 and 4 for one k and the smaller of s and
//    D. Both sides only grow with more bytes. A tensor counts at most D bytes:
//    one of D bytes or more suffices alone.
// 6. Covering test (covering_bound.h): the cut test gives the least bytes N of
//    R at each k. A clone that fills a gap counts at all k of the gap, but
//    once. Gaps of one tensor with a kernel between them need different clones;
//    gaps with only aliases between them may share one, so they are one item.
//    If the least time of a covering exceeds T - C, there is no plan.
// 7. Path test (path_bound.h): by 4, what is left of T after the earliest end
//    of k and the kernels after it limits r. The longest path then takes D less
//    that limit as the bytes that are copied, and its whole-tensor rounding
//    applies to them, since R and the copied tensors are whole.
//
// An item that alone takes more than T - C is never recomputed, so no test
// counts it. The times are without the slowdown of kernels beside copies, with
// the best rate, without latencies, and with the issue times of the model's own
// kernels only. Clones that read absent tensors, chains of clones, their
// outputs and their workspaces are not counted: all this only makes the bound
// lower. The times of a plan's copies are rounded to whole nanoseconds, so n
// copies may take n / 2 ns less than their bytes at the best rate, which no
// bound here counts.
//
// The bound holds for the order of kernels in the model. Choices that
// change what kernels read, or make a tensor in a way that is not in
// `remake_ns`, are outside of it.
#ifndef SPILLWAY_TUNER_BOUND_JOINT_BOUND_H_
#define SPILLWAY_TUNER_BOUND_JOINT_BOUND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/device_profile.h"
#include "tuner/bound/crowded_steps.h"
#include "tuner/model/step_model.h"

namespace spillway {

// Borrows everything for the call.
struct JointBoundInputs {
  // Of the step without swaps and clones, in one order of the kernels.
  const StepModel& model;
  // By gap: a lower bound on the kernel time of computing the gap's bytes a
  // second time, by the fastest algorithm of the cheapest node that makes any
  // value which the storage holds there; kCannotRemake (crowded_steps.h) if no
  // node can. Where one node makes several storages, the time is on the largest
  // and the others have 0.
  const std::vector<int64_t>& remake_ns;
  const DeviceProfile& profile;
  int64_t budget_bytes = 0;
  // False: nothing is swapped; only feeds are copied. For plans that only
  // recompute.
  bool can_swap = true;
};

struct JointBound {
  bool is_feasible = true;  // false: no plan fits the budget, whatever its time
  int64_t step_ns = 0;
  int64_t kernels_ns = 0;  // of the model
  // What the tight test waits for: for bytes that leave, for bytes that arrive,
  // for clones, and for the host to issue a kernel. They may overlap.
  int64_t out_ns = 0;
  int64_t in_ns = 0;
  int64_t recompute_ns = 0;
  int64_t issue_ns = 0;
  // The kernel at which the test for a slightly shorter step fails; -1: none,
  // since all bytes fit.
  int32_t tight_step = -1;
  int64_t missing_bytes = 0;  // at tight_step, if not feasible
};

// `known_ns`: the time of a known plan, or 0: no larger bound is tried. For
// swaps alone (nothing can be remade), the bound is LowerBound's, if a plan
// exists. The precision is 1e-6 of the time; for models with more than about a
// million pairs of a crowded kernel and a gap around it 1e-3, where the bound
// also looks at a part of the kernels and leaves out the covering test.
//
// Cost: about 30 times O(steps + pairs).
JointBound FindJointBound(const JointBoundInputs& inputs, int64_t known_ns);

// "compute" if the step exceeds the model's kernels by less than a twentieth;
// else the longest wait: "copies to the host", "copies to the device",
// "recomputation" or "the host's calls".
std::string BoundReason(const JointBound& bound);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_BOUND_JOINT_BOUND_H_
