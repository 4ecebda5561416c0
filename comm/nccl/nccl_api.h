// NcclApi: exactly the calls of NCCL (2.18 or later) that the backend makes.
//
// It is an interface, so that the backend compiles without CUDA's headers and
// is tested without a GPU (tests/comm/nccl/fake_nccl.h). NcclLibrary
// (ops/gpu/library/nccl.h) is the real implementation.
#ifndef SPILLWAY_COMM_NCCL_NCCL_API_H_
#define SPILLWAY_COMM_NCCL_NCCL_API_H_

#include <array>
#include <cstddef>
#include <string>

#include "comm/reduce_op.h"
#include "graph/dtype.h"

namespace spillway {

class NcclApi {
 public:
  // An ncclResult_t; 0: success.
  using Result = int;
  static constexpr Result kRemoteError = 6;
  static constexpr Result kInProgress = 7;

  using Comm = void*;                      // ncclComm_t
  using Stream = void*;                    // cudaStream_t
  using UniqueId = std::array<char, 128>;  // ncclUniqueId

  virtual ~NcclApi() = default;

  // As text, with the last error of the library: "remote process exited".
  virtual std::string ErrorText(Result result, Comm comm) const = 0;

  // 22809: 2.28.9
  virtual Result GetVersion(int* version) = 0;
  virtual Result GetUniqueId(UniqueId* id) = 0;

  // Of the current GPU of this thread. With config.blocking 0: this and the
  // calls below return kInProgress if they go on, until GetAsyncError has
  // another result.
  virtual Result CommInitRank(Comm* comm, int size, const UniqueId& id,
                              int rank) = 0;
  virtual Result CommGetAsyncError(Comm comm, Result* result) = 0;
  virtual Result CommFinalize(Comm comm) = 0;
  virtual Result CommDestroy(Comm comm) = 0;
  // Ends the queued work too.
  virtual Result CommAbort(Comm comm) = 0;

  // In place. `dtype` is not bool.
  virtual Result AllReduce(void* data, size_t count, DType dtype, ReduceOp op,
                           Comm comm, Stream stream) = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_COMM_NCCL_NCCL_API_H_
