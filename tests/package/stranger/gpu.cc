#include "spillway/executor/device/registry.h"

absl::Status OpenGpu() { return spillway::NewDevice("cuda", {}).status(); }
