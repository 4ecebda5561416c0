#include "ops/gpu/conv/conv_engine_ways.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/status_macros.h"
#include "ops/gpu/library/cudnn_graph.h"

namespace spillway {
namespace {

constexpr size_t kMostEngines = 4;

class ConvEngineWay final : public ConvWay {
 public:
  // `engine` is borrowed.
  explicit ConvEngineWay(const ConvEngine& engine) : engine_(engine) {}

  const std::string& name() const override { return engine_.name; }
  int64_t workspace_bytes() const override { return engine_.workspace_bytes; }

  // The objects made here are small and in host memory. So, like a legacy call,
  // the run may be captured in a CUDA graph.
  absl::Status Run(const LockedCudnn& cudnn,
                   const ConvData& data) const override {
    const std::array<int64_t, 3> uids = {kConvX, kConvFilter, kConvY};
    const std::array<void*, 3> pointers = {data.x, data.filter, data.y};
    SPILLWAY_ASSIGN_OR_RETURN(
        GraphDescriptor pack,
        GraphDescriptor::Create(cudnn.api,
                                CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
    SPILLWAY_RETURN_IF_ERROR(pack.SetAll(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                                         std::span<const int64_t>(uids)));
    SPILLWAY_RETURN_IF_ERROR(pack.SetAll(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                         std::span<void* const>(pointers)));
    SPILLWAY_RETURN_IF_ERROR(
        pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, data.workspace));
    SPILLWAY_RETURN_IF_ERROR(pack.Finalize());
    return CudnnStatus(
        cudnn.api,
        cudnn.api.execute(cudnn.handle, engine_.plan.get(), pack.get()),
        "cudnnBackendExecute");
  }

 private:
  const ConvEngine& engine_;
};

}  // namespace

ConvEngineWays::ConvEngineWays(const GpuConvSpec& spec, ConvDirection direction,
                               const ConvDTypes& dtypes,
                               const ConvEngineRule& rule)
    : operands_(MakeConvOperands(spec, dtypes)),
      problem_({.geometry = PadIntoInput(spec.geometry),
                .direction = direction,
                .dtype = dtypes.activations,
                .filter_dtype = dtypes.filter}),
      rule_(rule) {}

absl::StatusOr<std::vector<std::unique_ptr<ConvWay>>> ConvEngineWays::Find(
    const LockedCudnn& cudnn, const ConvWanted& wanted) {
  std::vector<std::unique_ptr<ConvWay>> ways;
  const absl::StatusOr<std::vector<const ConvEngine*>> engines =
      FindConvEngines(
          cudnn, problem_, rule_,
          {.most = std::min(wanted.most, kMostEngines), .name = wanted.name});
  if (absl::IsResourceExhausted(engines.status())) return engines.status();
  if (!engines.ok()) return ways;
  for (const ConvEngine* engine : *engines) {
    ways.push_back(std::make_unique<ConvEngineWay>(*engine));
  }
  return ways;
}

}  // namespace spillway
