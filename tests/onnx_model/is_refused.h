#ifndef SPILLWAY_TESTS_ONNX_MODEL_IS_REFUSED_H_
#define SPILLWAY_TESTS_ONNX_MODEL_IS_REFUSED_H_

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace spillway::testing {

// Matches INVALID_ARGUMENT with a message that contains the text.
inline auto IsRefused(const std::string& text) {
  return StatusIs(absl::StatusCode::kInvalidArgument,
                  ::testing::HasSubstr(text));
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_ONNX_MODEL_IS_REFUSED_H_
