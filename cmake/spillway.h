// The whole public API: #include "spillway/spillway.h".
#ifndef SPILLWAY_SPILLWAY_H_
#define SPILLWAY_SPILLWAY_H_

// IWYU pragma: begin_exports
#include "base/status_macros.h"
#include "base/trace/timeline.h"
#include "base/units.h"
#include "executor/device/registry.h"
#include "executor/session.h"
#include "graph/builder.h"
#include "graph/gradient.h"
#include "graph/json_format.h"
#include "lms/lms.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "training/check_gradients.h"
#include "training/checkpoint.h"
#include "training/data/batched.h"
#include "training/data/mnist.h"
#include "training/data/prefetched.h"
#include "training/data/shuffled.h"
#include "training/optimizer.h"
#include "training/trainer.h"
// IWYU pragma: end_exports

#endif  // SPILLWAY_SPILLWAY_H_
