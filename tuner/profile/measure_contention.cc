#include "tuner/profile/measure_contention.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "executor/session/session.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "ops/all_ops.h"
#include "spdlog/spdlog.h"
#include "tuner/profile/plausible_profile.h"

namespace spillway {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kCopyBytes = 1_MiB;
constexpr int64_t kContendedBytes = 32_MiB;

// A thread that keeps one direction busy between Start and Stop.
class Copier {
 public:
  static absl::StatusOr<std::unique_ptr<Copier>> Create(Device& device,
                                                        bool to_host) {
    auto copier = std::make_unique<Copier>();
    copier->to_host_ = to_host;
    SPILLWAY_ASSIGN_OR_RETURN(
        copier->device_bytes_,
        device.Allocate(MemorySpace::kDevice, kContendedBytes));
    SPILLWAY_ASSIGN_OR_RETURN(
        copier->host_bytes_,
        device.Allocate(MemorySpace::kHost, kContendedBytes));
    SPILLWAY_ASSIGN_OR_RETURN(copier->stream_,
                              device.NewStream({.name = "copies"}));
    return copier;
  }

  void Start() {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) CopyPool(stop);
    });
  }
  void Stop() { thread_ = {}; }

  int64_t bytes() const { return bytes_; }

 private:
  void CopyPool(const std::stop_token& stop) {
    for (int64_t at = 0; at < kContendedBytes && !stop.stop_requested();
         at += kCopyBytes) {
      std::byte* device = device_bytes_->data() + at;
      std::byte* host = host_bytes_->data() + at;
      absl::Status status =
          to_host_ ? stream_->CopyToHost(host, device, kCopyBytes)
                   : stream_->CopyToDevice(device, host, kCopyBytes);
      status.Update(stream_->Synchronize());
      if (status.ok()) bytes_ += kCopyBytes;
    }
  }

  bool to_host_ = false;
  std::unique_ptr<DeviceMemory> device_bytes_;
  std::unique_ptr<DeviceMemory> host_bytes_;
  std::unique_ptr<Stream> stream_;
  std::atomic<int64_t> bytes_ = 0;
  std::jthread thread_;  // last: ends before the members it uses
};

absl::StatusOr<Graph> BuildProducts() {
  constexpr int64_t kSize = 512;
  constexpr int kProducts = 8;
  GraphBuilder g(StandardOps(), "products");
  const auto variable = [&g] {
    return g.Add(g, {.op = std::string(kVariable),
                     .attributes = {{"dtype", DType::kFloat32},
                                    {"shape", Shape{kSize, kSize}}}});
  };
  Tensor x = variable();
  const Tensor y = variable();
  for (int i = 0; i < kProducts; ++i) {
    x = g.Add(g, {.op = "MatMul", .inputs = {x, y}});
  }
  return std::move(g).Build();
}

class Measurement {
 public:
  Measurement(const ContentionMeasurement& spec, const Feeds& feeds,
              Session& session)
      : spec_(spec), feeds_(feeds), session_(session) {}

  // Median nanoseconds of a few steps, after an uncounted one.
  absl::StatusOr<double> StepNs() {
    std::vector<double> times;
    for (int64_t i = 0; i <= spec_.steps; ++i) {
      const Clock::time_point begin = Clock::now();
      SPILLWAY_RETURN_IF_ERROR(session_.Step(feeds_).status());
      const std::chrono::nanoseconds taken = Clock::now() - begin;
      if (i > 0) times.push_back(static_cast<double>(taken.count()));
    }
    return Median(times);
  }

  absl::StatusOr<ContentionRound> Round(Copier& out, Copier& in) {
    ContentionRound round;
    SPILLWAY_ASSIGN_OR_RETURN(round.alone_ns, StepNs());
    const int64_t bytes_before = out.bytes() + in.bytes();
    const Clock::time_point begin = Clock::now();
    out.Start();
    in.Start();
    const absl::StatusOr<double> beside_ns = StepNs();
    const std::chrono::nanoseconds taken = Clock::now() - begin;
    round.copied_bytes = out.bytes() + in.bytes() - bytes_before;
    out.Stop();
    in.Stop();
    SPILLWAY_RETURN_IF_ERROR(beside_ns.status());
    round.beside_ns = *beside_ns;
    round.copying_ns = static_cast<double>(taken.count());
    return round;
  }

 private:
  const ContentionMeasurement& spec_;
  const Feeds& feeds_;
  Session& session_;
};

}  // namespace

absl::StatusOr<double> MeasureContention(const ContentionMeasurement& spec,
                                         const Feeds& feeds, Session& session,
                                         Device& copies) {
  SPILLWAY_CHECK(spec.rounds > 0 && spec.steps > 0);
  SPILLWAY_ASSIGN_OR_RETURN(const auto out, Copier::Create(copies, true));
  SPILLWAY_ASSIGN_OR_RETURN(const auto in, Copier::Create(copies, false));
  Measurement measurement(spec, feeds, session);
  SPILLWAY_RETURN_IF_ERROR(measurement.StepNs().status());  // warm-up
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    std::vector<ContentionRound> rounds;
    for (int64_t i = 0; i < spec.rounds; ++i) {
      SPILLWAY_RETURN_IF_ERROR(CheckStop(spec.stop));
      SPILLWAY_ASSIGN_OR_RETURN(const ContentionRound round,
                                measurement.Round(*out, *in));
      rounds.push_back(round);
    }
    if (const std::optional<double> slowdown = SlowdownOf(rounds)) {
      return *slowdown;
    }
  }
  spdlog::warn(
      "the slowdown of kernels by copies could not be measured while other "
      "programs ran; 0 is assumed");
  return 0;
}

absl::StatusOr<std::unique_ptr<Session>> NewProductsSession(
    std::unique_ptr<Device> device, int threads, const MathOptions& math) {
  std::vector<Program> programs(1);
  SPILLWAY_ASSIGN_OR_RETURN(programs[0].graph, BuildProducts());
  return Session::Create(std::move(programs), std::move(device),
                         {.ops = &StandardOps(),
                          .kernels = &StandardKernels(),
                          .threads = threads,
                          .math = math});
}

}  // namespace spillway
