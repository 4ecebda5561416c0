// --dim NAME=N,...: dimensions of an ONNX model that its file leaves open.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_DIM_FLAG_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_DIM_FLAG_H_

#include <cstdint>
#include <map>
#include <string>

#include "tools/spillway/flags/flags.h"

namespace spillway {

CLI::Option* AddDimFlag(FlagSet& flags, std::map<std::string, int64_t>& dims);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_DIM_FLAG_H_
