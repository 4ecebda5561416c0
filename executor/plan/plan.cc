#include "executor/plan/plan.h"

#include "base/check.h"

namespace spillway {

std::string_view LaneName(Lane lane) {
  switch (lane) {
    case Lane::kCompute:
      return "compute";
    case Lane::kCopyOut:
      return "copy out";
    case Lane::kCopyIn:
      return "copy in";
  }
  SPILLWAY_CHECK(false);
}

}  // namespace spillway
