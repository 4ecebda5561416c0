// How values of all ranks become one.
#ifndef SPILLWAY_COMM_REDUCE_OP_H_
#define SPILLWAY_COMM_REDUCE_OP_H_

#include <cstdint>
#include <string_view>

namespace spillway {

enum class ReduceOp : uint8_t { kSum, kMax, kMin };
// "sum", "max", "min"
std::string_view ReduceOpName(ReduceOp op);

}  // namespace spillway

#endif  // SPILLWAY_COMM_REDUCE_OP_H_
