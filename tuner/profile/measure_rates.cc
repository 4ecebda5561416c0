#include "tuner/profile/measure_rates.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "base/trace/timeline.h"
#include "executor/device/registry.h"
#include "executor/session/session.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "ops/all_ops.h"

namespace spillway {
namespace {

constexpr int64_t kMatrixSize = 1024;
constexpr int64_t kVectorSize = int64_t{8} << 20;

Tensor AddVariable(GraphBuilder& g, DType dtype, const Shape& shape) {
  return g.Add(g, {.op = std::string(kVariable),
                   .attributes = {{"dtype", dtype}, {"shape", shape}}});
}

void AddMatMul(GraphBuilder& g, DType dtype) {
  const Shape square = {kMatrixSize, kMatrixSize};
  const Tensor a = AddVariable(g, dtype, square);
  const Tensor b = AddVariable(g, dtype, square);
  g.Add(g, {.op = "MatMul",
            .inputs = {a, b},
            .name = std::string(DTypeName(dtype))});
}

void AddLeast(GraphBuilder& g) {
  const Tensor one = AddVariable(g, DType::kFloat32, {1});
  g.Add(g, {.op = "Relu", .inputs = {one}, .name = "least"});
}

// Each kernel has the name of the rate that its time gives.
absl::StatusOr<Graph> BuildKernels(const std::vector<DType>& dtypes) {
  GraphBuilder g(StandardOps(), "rates");
  for (const DType dtype : dtypes) AddMatMul(g, dtype);
  const Tensor x = AddVariable(g, DType::kFloat32, {kVectorSize});
  const Tensor y = AddVariable(g, DType::kFloat32, {kVectorSize});
  g.Add(g, {.op = "Add", .inputs = {x, y}, .name = "memory"});
  AddLeast(g);
  return std::move(g).Build();
}

absl::StatusOr<Graph> BuildLeast() {
  GraphBuilder g(StandardOps(), "least");
  AddLeast(g);
  return std::move(g).Build();
}

// Median nanoseconds of each node.
absl::StatusOr<std::map<std::string, double>> TimeNodes(
    const RateMeasurement& spec, Session& session) {
  std::map<std::string, std::vector<double>> times;
  for (int64_t step = 0; step <= spec.steps; ++step) {
    SPILLWAY_RETURN_IF_ERROR(CheckStop(spec.stop));
    Timeline timeline;
    SPILLWAY_RETURN_IF_ERROR(session.Step(0, {}, &timeline).status());
    if (step == 0) continue;
    for (const Span& span : timeline.spans) {
      const int64_t ns = std::max<int64_t>(1, span.end_ns - span.begin_ns);
      times[span.name].push_back(static_cast<double>(ns));
    }
  }
  std::map<std::string, double> medians;
  for (const auto& [name, all] : times) medians[name] = Median(all);
  return medians;
}

// The dtypes for which the device has a MatMul.
std::vector<DType> KnownDTypes(DeviceKind kind, const RateMeasurement& spec) {
  std::vector<DType> known;
  for (const DType dtype :
       {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    const absl::StatusOr<Graph> graph = BuildKernels({dtype});
    if (!graph.ok()) continue;
    const OpRegistry& ops = StandardOps();
    const IdMap<NodeId, bool> keep = NodesToRun(*graph, ops, {});
    if (PrepareKernels(*graph, ops, StandardKernels(), keep,
                       {.kind = kind,
                        .threads = ResolveThreads(spec.threads),
                        .math = spec.math})
            .ok()) {
      known.push_back(dtype);
    }
  }
  return known;
}

absl::StatusOr<std::unique_ptr<Session>> NewSession(
    absl::StatusOr<Graph> graph, std::unique_ptr<Device> device,
    const RateMeasurement& spec) {
  SPILLWAY_RETURN_IF_ERROR(graph.status());
  std::vector<Program> programs(1);
  programs[0].graph = *std::move(graph);
  return Session::Create(std::move(programs), std::move(device),
                         {.ops = &StandardOps(),
                          .kernels = &StandardKernels(),
                          .threads = ResolveThreads(spec.threads),
                          .math = spec.math});
}

}  // namespace

absl::StatusOr<MeasuredRates> MeasureRates(std::unique_ptr<Device> device,
                                           const RateMeasurement& spec) {
  SPILLWAY_CHECK(spec.steps > 0);
  const std::vector<DType> dtypes = KnownDTypes(device->kind(), spec);
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      NewSession(BuildKernels(dtypes), std::move(device), spec));
  SPILLWAY_ASSIGN_OR_RETURN(const auto times, TimeNodes(spec, *session));
  MeasuredRates rates;
  for (const DType dtype : dtypes) {
    constexpr double kFlops = 2.0 * kMatrixSize * kMatrixSize * kMatrixSize;
    rates.flops_per_second[dtype] =
        kFlops * 1e9 / times.at(std::string(DTypeName(dtype)));
  }
  constexpr double kBytes = 3.0 * kVectorSize * sizeof(float);
  rates.memory_bytes_per_second = kBytes * 1e9 / times.at("memory");
  rates.kernel_ns = static_cast<int64_t>(times.at("least"));
  return rates;
}

absl::StatusOr<int64_t> MeasureCallNs(std::unique_ptr<Device> device,
                                      const RateMeasurement& spec) {
  SPILLWAY_CHECK(spec.steps > 0);
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                            NewSession(BuildLeast(), std::move(device), spec));
  SPILLWAY_ASSIGN_OR_RETURN(const auto kernels, TimeNodes(spec, *session));
  std::vector<double> times;
  for (int64_t step = 0; step < spec.steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    SPILLWAY_RETURN_IF_ERROR(session->Step({}).status());
    const std::chrono::nanoseconds taken =
        std::chrono::steady_clock::now() - begin;
    times.push_back(static_cast<double>(taken.count()));
  }
  const double call_ns = Median(times) - kernels.at("least");
  return std::max<int64_t>(0, static_cast<int64_t>(call_ns));
}

}  // namespace spillway
