// Installed, and includes a header that is not installed.
#include "absl/status/status.h"
#include "base/ids.h"
#include "ops/cpu/onednn.h"
