// Random orthonormal rows, for initial values that keep the length of what they
// multiply.
//
// Deterministic: a function of the spec alone. Products and sums are in one
// fixed order for any number of threads, in double and without contraction, so
// the result is bitwise identical on every machine if the numbers drawn are.
// Cost: about 4 count^2 length flops and 8 count length bytes.
// Source: Saxe, McClelland, Ganguli, ICLR 2014; Householder's QR, Golub and Van
// Loan, Matrix Computations, sections 5.1 and 5.2; Mezzadri, Notices of the AMS
// 54(5), 2007, for the signs that make every basis equally likely.
#ifndef SPILLWAY_EXECUTOR_SESSION_ORTHOGONAL_H_
#define SPILLWAY_EXECUTOR_SESSION_ORTHOGONAL_H_

#include <cstdint>
#include <vector>

#include "executor/host_threads.h"

namespace spillway {

struct OrthonormalSpec {
  int64_t count = 0;   // rows
  int64_t length = 0;  // of each row; at least `count`
  uint64_t key = 0;    // of the random numbers (base/random.h)
  // The matrix that is made orthonormal has normal elements; else uniform from
  // -1 to 1. Element i of it is number i of the key.
  bool from_normal = false;
};

// The rows, one after the other. `threads` may be null.
std::vector<double> OrthonormalRows(const OrthonormalSpec& spec,
                                    HostThreads* threads);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_ORTHOGONAL_H_
