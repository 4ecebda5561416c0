// A kernel for nodes that can be computed by several algorithms.
#ifndef SPILLWAY_OPS_COMMON_ONE_OF_H_
#define SPILLWAY_OPS_COMMON_ONE_OF_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace spillway {

struct Alternative {
  std::string algorithm = {};  // its name
  // Called whenever its workspace is needed; UNIMPLEMENTED if the algorithm
  // does not support this node.
  std::function<NewKernel()> make = {};
};

// The kernel of the alternative with the name `wanted`, or of the first. Of
// several, it lists those that can be made. Errors: INVALID_ARGUMENT if no
// alternative has the name `wanted`; errors of the alternative.
NewKernel MakeOneOf(std::vector<Alternative> alternatives,
                    std::string_view wanted);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_ONE_OF_H_
