// NCCL, opened at run time.
#ifndef SPILLWAY_OPS_GPU_LIBRARY_NCCL_H_
#define SPILLWAY_OPS_GPU_LIBRARY_NCCL_H_

#include "absl/status/statusor.h"
#include "comm/nccl/nccl_api.h"

namespace spillway {

// One per process. Peers are connected when a communicator is opened
// (NCCL_RUNTIME_CONNECT=0, unless the environment says otherwise), so that NCCL
// takes its memory before budgets are counted. Errors: UNAVAILABLE without the
// library, or its headers at build time.
absl::StatusOr<NcclApi*> NcclLibrary();

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_LIBRARY_NCCL_H_
