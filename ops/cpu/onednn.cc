#include "ops/cpu/onednn.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/device/process_memory.h"
#include "ops/cpu/lanes.h"

namespace spillway {
namespace {

constexpr int64_t kScratchAlignment = 256;

// Sets the number of OpenMP threads during its lifetime.
class ScopedThreads {
 public:
  explicit ScopedThreads(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ScopedThreads() { omp_set_num_threads(before_); }
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;

 private:
  int before_;
};

// Runs `call`, in which oneDNN may throw, with this number of threads.
absl::Status CallOneDnn(int threads, absl::FunctionRef<void()> call) {
  const ScopedThreads scope(threads);
  try {
    call();
    return absl::OkStatus();
  } catch (const dnnl::error& error) {
    const std::string message = fmt::format("oneDNN: {}", error.what());
    if (error.status == dnnl_unimplemented) return Unimplemented(message);
    return error.status == dnnl_out_of_memory ? ResourceExhausted(message)
                                              : Internal(message);
  }
}

class OneDnnKernel final : public Kernel {
 public:
  OneDnnKernel(int threads, const OneDnnProgram& program)
      : threads_(threads),
        stream_(program.engine()),
        reserved_bytes_(program.reserved_bytes()),
        workspace_bytes_(reserved_bytes_ + program.scratchpad_bytes()) {
    for (const OneDnnStep& step : program.steps()) {
      steps_.push_back({.primitive = step.primitive});
      for (const OneDnnArgument& argument : step.arguments) {
        const dnnl::memory memory(argument.desc, program.engine(),
                                  DNNL_MEMORY_NONE);
        steps_.back().memories.emplace(argument.id, memory);
        steps_.back().places.emplace_back(memory, argument.place);
      }
    }
  }

  int64_t workspace_bytes() const override { return workspace_bytes_; }

  absl::Status Run(const KernelContext& context) override {
    return CallOneDnn(threads_, [&] {
      for (Step& step : steps_) {
        for (auto& [memory, place] : step.places) {
          memory.set_data_handle(At(place, context));
        }
        step.primitive.execute(stream_, step.memories);
      }
    });
  }

 private:
  struct Step {
    dnnl::primitive primitive = {};
    std::unordered_map<int, dnnl::memory> memories = {};  // by argument
    std::vector<std::pair<dnnl::memory, Place>> places = {};
  };

  void* At(const Place& place, const KernelContext& context) const {
    auto* workspace = static_cast<std::byte*>(context.workspace);
    switch (place.kind) {
      case Place::Kind::kInput:
        return context.inputs[static_cast<size_t>(place.index)];
      case Place::Kind::kOutput:
        return context.outputs[static_cast<size_t>(place.index)];
      case Place::Kind::kWorkspace:
        return workspace + place.offset_bytes;
      case Place::Kind::kScratchpad:
        return workspace + reserved_bytes_;
    }
    return nullptr;
  }

  int threads_;
  dnnl::stream stream_;
  int64_t reserved_bytes_;
  int64_t workspace_bytes_;
  std::vector<Step> steps_;
};

}  // namespace

std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor,
                     version->patch);
}

dnnl::primitive_attr OneDnnProgram::UserScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Place OneDnnProgram::Reserve(const dnnl::memory::desc& desc) {
  const int64_t offset = reserved_bytes_;
  reserved_bytes_ +=
      AlignUp(static_cast<int64_t>(desc.get_size()), kScratchAlignment);
  return {.kind = Place::Kind::kWorkspace, .offset_bytes = offset};
}

void OneDnnProgram::Add(OneDnnStep step, const dnnl::memory::desc& scratchpad) {
  const auto bytes = static_cast<int64_t>(scratchpad.get_size());
  if (bytes > 0) {
    step.arguments.push_back({.id = DNNL_ARG_SCRATCHPAD,
                              .desc = scratchpad,
                              .place = {.kind = Place::Kind::kScratchpad}});
  }
  scratchpad_bytes_ = std::max(scratchpad_bytes_, bytes);
  steps_.push_back(std::move(step));
}

void OneDnnProgram::AddReorder(const dnnl::memory::desc& from, Place from_place,
                               const dnnl::memory::desc& to, Place to_place) {
  const dnnl::reorder::primitive_desc reorder(engine_, from, engine_, to,
                                              UserScratchpad());
  Add({.primitive = dnnl::reorder(reorder),
       .arguments = {{DNNL_ARG_FROM, from, from_place},
                     {DNNL_ARG_TO, to, to_place}}},
      reorder.scratchpad_desc());
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeOneDnnKernel(
    int threads, absl::FunctionRef<void(OneDnnProgram&)> write) {
  // oneDNN 2.6 dereferences null if it gets no memory for compiled code; one
  // primitive takes up to 1 MiB.
  SPILLWAY_RETURN_IF_ERROR(CheckMayMap(16_MiB, "to compile a kernel"));
  std::unique_ptr<Kernel> kernel;
  SPILLWAY_RETURN_IF_ERROR(CallOneDnn(threads, [&] {
    OneDnnProgram program;
    write(program);
    kernel = std::make_unique<OneDnnKernel>(threads, program);
  }));
  return kernel;
}

dnnl::memory::data_type ElementType(DType dtype) {
  if (dtype == DType::kFloat32) return dnnl::memory::data_type::f32;
  if (dtype != DType::kBFloat16) {
    throw dnnl::error(dnnl_unimplemented,
                      "the CPU computes in float32 and bfloat16 only");
  }
  if (!HasAvx512()) {
    throw dnnl::error(dnnl_unimplemented,
                      "bfloat16 needs a CPU with AVX-512; use float32 here");
  }
  return dnnl::memory::data_type::bf16;
}

dnnl::memory::desc Strided(const dnnl::memory::dims& dims,
                           const dnnl::memory::dims& strides, DType dtype) {
  return {dims, ElementType(dtype), strides};
}

dnnl::memory::desc ChannelsLast(int64_t batch, int64_t channels,
                                const std::vector<int64_t>& spatial,
                                DType dtype) {
  dnnl::memory::dims dims = {batch, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return {dims, ElementType(dtype),
          spatial.size() == 2 ? dnnl::memory::format_tag::nhwc
                              : dnnl::memory::format_tag::ndhwc};
}

}  // namespace spillway
