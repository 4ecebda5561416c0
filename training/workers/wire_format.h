// How gradients travel between ranks, to be added.
//
//   gradient -> clip -> * weight * scale -> float16 --+
//                                                     sum over ranks
//   gradient <- / scale <--------------------------- float16
//
// Half the bytes, for sums that are rounded to the type once for each addition.
// Source: backward_and_update_half of Apache SINGA's DistOpt, which adds first
// and divides by the number of ranks then; the weight is here before the sum,
// so a sum is infinite only if a mean is.
#ifndef SPILLWAY_TRAINING_WORKERS_WIRE_FORMAT_H_
#define SPILLWAY_TRAINING_WORKERS_WIRE_FORMAT_H_

#include "graph/dtype.h"

namespace spillway {

struct WireFormat {
  DType dtype = DType::kFloat32;  // or kFloat16, kBFloat16
  // A power of two from 2^-30 to 2^30: float16 makes zero of what is smaller
  // than 3e-8, and infinity of 65520.
  double scale = 1;
  // Each element of the rank's own gradients is limited to [-clip, clip] first;
  // 0: not.
  double clip = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_WORKERS_WIRE_FORMAT_H_
