// A kernel for nodes that can be computed in several ways.
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
  // Called whenever its workspace is asked for; UNIMPLEMENTED: there is none
  // for this node after all.
  std::function<NewKernel()> make = {};
};

// The kernel of the alternative that `wanted` names, or of the first. It lists
// those that can be made. Errors: INVALID_ARGUMENT if `wanted` names none; what
// the alternative says.
NewKernel MakeOneOf(std::vector<Alternative> alternatives,
                    std::string_view wanted);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_ONE_OF_H_
