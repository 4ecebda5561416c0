// An installed header with includes that are not installed, for the test of the
// check itself.
#ifndef SPILLWAY_OPS_PUBLIC_H_
#define SPILLWAY_OPS_PUBLIC_H_

#include "ops/conv_cpu.h"
#include "ops/gpu/thread/launch.h"
#include "ops/op.h"

#endif  // SPILLWAY_OPS_PUBLIC_H_
