// Which elements of the gradients a rank sends.
//
//   gradient + residual ---> largest elements ---> summed over the ranks
//                     \----> the others: the residual of the next update
//
// Source: backward_and_sparse_update of Apache SINGA's DistOpt.
#ifndef SPILLWAY_TRAINING_WORKERS_SPARSE_GRADIENTS_H_
#define SPILLWAY_TRAINING_WORKERS_SPARSE_GRADIENTS_H_

namespace spillway {

struct SparseGradients {
  // In (0, 1]: this part of each bucket's elements, those of the largest
  // magnitude. 0: min_magnitude decides.
  double topk_fraction = 0;
  // Elements of at least this magnitude, of the mean over the rank's own rows.
  double min_magnitude = 0.05;
  // Elements that are not sent are added to the gradients of the next update:
  // a variable of each gradient's size, residual, of its own for each rank.
  // False: they are lost.
  bool keeps_residuals = true;
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_WORKERS_SPARSE_GRADIENTS_H_
