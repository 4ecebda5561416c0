// Op: an OpDef together with the kernels that every build has.
#ifndef SPILLWAY_OPS_OP_H_
#define SPILLWAY_OPS_OP_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/kernel.h"
#include "graph/op_def.h"

namespace spillway {

struct Op {
  OpDef def;
  std::vector<std::pair<DeviceKind, KernelFactory>> kernels = {};
};

// What a KernelFactory returns.
using NewKernel = absl::StatusOr<std::unique_ptr<Kernel>>;

}  // namespace spillway

#endif  // SPILLWAY_OPS_OP_H_
