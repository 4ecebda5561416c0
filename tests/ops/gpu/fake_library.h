// Shared by the fakes of NVIDIA's libraries: buffers of the descriptors'
// dtypes, calls that fail on request, and a count of objects that were not
// destroyed.
#ifndef SPILLWAY_TESTS_OPS_GPU_FAKE_LIBRARY_H_
#define SPILLWAY_TESTS_OPS_GPU_FAKE_LIBRARY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "graph/dtype.h"

namespace spillway::testing {

// What tests configure in a fake library, and what it reports.
struct FakeLibrary {
  std::string failing_call;      // the function that fails
  size_t workspace_bytes = 768;  // needed by its algorithms
  int64_t objects = 0;           // existing handles and descriptors
  int64_t computations = 0;      // successful ones
  void* stream = nullptr;        // of the last computation
  int handles = 0;               // created so far
  // Called for each new handle, which takes device memory.
  std::function<void()> on_handle = {};
  int handle_number = -1;  // of the last computation, from 0
  // How computations are queued on a stream; null: run at once.
  std::function<void(void* stream, std::function<void()> work)> queue = {};

  bool Fails(std::string_view call) const { return call == failing_call; }

  // `work` must own all that it needs.
  void Queue(void* of_stream, std::function<void()> work) {
    stream = of_stream;
    ++computations;
    if (queue) {
      queue(of_stream, std::move(work));
    } else {
      work();
    }
  }
};

// The elements of a tensor, float32, bfloat16 or float16.
inline double ReadElement(const void* data, int64_t i, DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
      return ToFloat(static_cast<const BFloat16*>(data)[i]);
    case DType::kFloat16:
      return ToFloat(static_cast<const Float16*>(data)[i]);
    default:
      return static_cast<const float*>(data)[i];
  }
}
inline void WriteElement(void* data, int64_t i, DType dtype, double x) {
  const auto rounded = static_cast<float>(x);
  switch (dtype) {
    case DType::kBFloat16:
      static_cast<BFloat16*>(data)[i] = ToBFloat16(rounded);
      break;
    case DType::kFloat16:
      static_cast<Float16*>(data)[i] = ToFloat16(rounded);
      break;
    default:
      static_cast<float*>(data)[i] = rounded;
  }
}

// Like a real library: nothing else may be there during the call.
inline void Overwrite(void* workspace, size_t bytes) {
  if (bytes > 0) std::memset(workspace, 0xFF, bytes);
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_FAKE_LIBRARY_H_
