// Access to oneDNN: kernels made of its primitives, with its exceptions
// converted to a Status.
//
// A program is a list of primitives and, for each of their memory arguments,
// its place in a run: in an input, an output or the workspace. All scratch
// memory is workspace, shared by the primitives, since these run one after the
// other. So the plan knows all memory of a node.
//
// Threads: oneDNN splits work when a primitive is made, so the number of
// threads is set while making and while running.
#ifndef SPILLWAY_OPS_CPU_ONEDNN_H_
#define SPILLWAY_OPS_CPU_ONEDNN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "executor/kernel.h"
#include "graph/dtype.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace spillway {

// "2.6.3"
std::string OneDnnVersion();

// The place where the bytes of a memory argument begin.
struct Place {
  enum class Kind : uint8_t { kInput, kOutput, kWorkspace, kScratchpad };

  Kind kind = Kind::kInput;
  int index = 0;             // of the input or output
  int64_t offset_bytes = 0;  // into the reserved workspace
};

inline Place Input(int index) { return {.index = index}; }
inline Place Output(int index) {
  return {.kind = Place::Kind::kOutput, .index = index};
}

// One memory argument of a primitive: DNNL_ARG_SRC and so on.
struct OneDnnArgument {
  int id = 0;
  dnnl::memory::desc desc = {};
  Place place = {};
};

struct OneDnnStep {
  dnnl::primitive primitive = {};
  std::vector<OneDnnArgument> arguments = {};
};

class OneDnnProgram {
 public:
  const dnnl::engine& engine() const { return engine_; }

  // Makes scratch memory a part of the workspace; used for every primitive.
  static dnnl::primitive_attr UserScratchpad();

  // Reserves separate workspace for `desc`.
  Place Reserve(const dnnl::memory::desc& desc);

  // Appends a primitive; `scratchpad` describes its scratchpad.
  void Add(OneDnnStep step, const dnnl::memory::desc& scratchpad);

  // Appends a copy that changes the layout.
  void AddReorder(const dnnl::memory::desc& from, Place from_place,
                  const dnnl::memory::desc& to, Place to_place);

  const std::vector<OneDnnStep>& steps() const { return steps_; }
  // The workspace: the reserved bytes, then the largest scratchpad.
  int64_t reserved_bytes() const { return reserved_bytes_; }
  int64_t scratchpad_bytes() const { return scratchpad_bytes_; }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  std::vector<OneDnnStep> steps_;
  int64_t reserved_bytes_ = 0;
  int64_t scratchpad_bytes_ = 0;
};

// The kernel of the program that `write` fills; oneDNN may throw in `write`.
// Errors: UNIMPLEMENTED if oneDNN has no such primitive or dtype here,
// RESOURCE_EXHAUSTED without memory for its code, INTERNAL if it fails
// otherwise, each with oneDNN's message.
absl::StatusOr<std::unique_ptr<Kernel>> MakeOneDnnKernel(
    int threads, absl::FunctionRef<void(OneDnnProgram&)> write);

// The three functions below are for use inside `write`: they throw as oneDNN
// does, for any dtype except float32 and, if the CPU has AVX-512, bfloat16.

dnnl::memory::data_type ElementType(DType dtype);

// A tensor whose dimensions have the given strides, in elements.
dnnl::memory::desc Strided(const dnnl::memory::dims& dims,
                           const dnnl::memory::dims& strides,
                           DType dtype = DType::kFloat32);

// Activations [batch, spatial..., channels] in their stored layout; `spatial`
// has two or three entries. oneDNN orders the dimensions as batch, channels,
// spatial...
dnnl::memory::desc ChannelsLast(int64_t batch, int64_t channels,
                                const std::vector<int64_t>& spatial,
                                DType dtype);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_ONEDNN_H_
