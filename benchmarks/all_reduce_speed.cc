// How long the all-reduces of a run's ranks take, by size, and how much a
// computation beside them slows both. Started once for each rank, with the
// variables of a launcher that `spillway` understands (comm/ranks.h); rank 0
// prints, and writes the result:
//   mpirun -n 2 all_reduce_speed [RESULT.json]
//
// The numbers of a NetworkModel (simulator/network/network_model.h) are fitted
// to them by scaling.py.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "comm/open_communicator.h"
#include "comm/ranks.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

constexpr std::array<int64_t, 7> kBytes = {1 << 10, 1 << 14, 1 << 17, 1 << 20,
                                           1 << 22, 1 << 24, 1 << 26};
constexpr int64_t kContentionBytes = 1 << 22;
constexpr double kSecondsOfSize = 0.4;
constexpr double kSecondsOfContention = 1.5;

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Multiplies small matrices until it is told to end.
class Computation {
 public:
  // Products per second.
  double Run(const std::atomic<bool>& ends) {
    int64_t products = 0;
    const Clock::time_point begin = Clock::now();
    while (!ends) {
      Multiply();
      ++products;
    }
    return static_cast<double>(products) / SecondsSince(begin);
  }

  float sum() const { return c_[0]; }

 private:
  static constexpr size_t kSize = 64;
  using Matrix = std::array<float, kSize * kSize>;

  void Multiply() {
    for (size_t i = 0; i < kSize; ++i) {
      for (size_t k = 0; k < kSize; ++k) {
        const float x = a_[i * kSize + k];
        for (size_t j = 0; j < kSize; ++j) {
          c_[i * kSize + j] += x * b_[k * kSize + j];
        }
      }
    }
  }

  Matrix a_ = {};
  Matrix b_ = {};
  Matrix c_ = {};
};

class Measurement {
 public:
  explicit Measurement(Communicator& communicator)
      : communicator_(communicator) {}

  // Mean time of an all-reduce, of the slowest rank. All ranks do as many.
  absl::StatusOr<double> AllReduceNs(int64_t bytes, double seconds) {
    std::vector<float> data(static_cast<size_t>(bytes) / sizeof(float));
    SPILLWAY_ASSIGN_OR_RETURN(const double first, TimeNs(data, 3));
    const auto calls =
        std::max<int64_t>(3, static_cast<int64_t>(seconds * 1e9 / first));
    return TimeNs(data, calls);
  }

  struct Contention {
    double all_reduce_slowdown = 0;  // 1: takes twice as long
    double compute_slowdown = 0;
  };
  absl::StatusOr<Contention> MeasureContention() {
    SPILLWAY_ASSIGN_OR_RETURN(const double alone_ns,
                              AllReduceNs(kContentionBytes, 0.5));
    const double alone_rate = ComputeFor(kSecondsOfContention);
    SPILLWAY_RETURN_IF_ERROR(communicator_.Barrier());
    std::atomic<bool> ends = false;
    double rate = 0;
    std::thread computing([&] { rate = computation_.Run(ends); });
    const absl::StatusOr<double> beside_ns =
        AllReduceNs(kContentionBytes, kSecondsOfContention);
    ends = true;
    computing.join();
    SPILLWAY_RETURN_IF_ERROR(beside_ns.status());
    return Contention{.all_reduce_slowdown = *beside_ns / alone_ns - 1,
                      .compute_slowdown = alone_rate / rate - 1};
  }

 private:
  absl::StatusOr<double> TimeNs(std::vector<float>& data, int64_t calls) {
    SPILLWAY_RETURN_IF_ERROR(communicator_.Barrier());
    const Clock::time_point begin = Clock::now();
    for (int64_t i = 0; i < calls; ++i) {
      SPILLWAY_RETURN_IF_ERROR(communicator_.AllReduce(
          data.data(), static_cast<int64_t>(data.size()), DType::kFloat32));
    }
    double ns = SecondsSince(begin) * 1e9 / static_cast<double>(calls);
    auto whole_ns = static_cast<int64_t>(ns);
    SPILLWAY_RETURN_IF_ERROR(
        communicator_.AllReduce(&whole_ns, 1, DType::kInt64, ReduceOp::kMax));
    return static_cast<double>(whole_ns);
  }

  double ComputeFor(double seconds) {
    std::atomic<bool> ends = false;
    std::thread timer([&] {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      ends = true;
    });
    const double rate = computation_.Run(ends);
    timer.join();
    return rate;
  }

  Communicator& communicator_;
  Computation computation_;
};

absl::StatusOr<nlohmann::ordered_json> Measure(Communicator& communicator) {
  Measurement measurement(communicator);
  nlohmann::ordered_json json = {{"benchmark", "all_reduce_speed"},
                                 {"backend", communicator.info().backend},
                                 {"ranks", communicator.size()}};
  for (const int64_t bytes : kBytes) {
    SPILLWAY_ASSIGN_OR_RETURN(const double ns,
                              measurement.AllReduceNs(bytes, kSecondsOfSize));
    json["all_reduces"].push_back({{"bytes", bytes}, {"ns", ns}});
    if (communicator.rank() != 0) continue;
    fmt::print("{:>10} bytes {:>12.1f} us\n", bytes, ns * 1e-3);
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Measurement::Contention contention,
                            measurement.MeasureContention());
  json["all_reduce_slowdown"] = contention.all_reduce_slowdown;
  json["compute_slowdown"] = contention.compute_slowdown;
  return json;
}

absl::Status Run(int argc, char** argv) {
  CommSpec spec;
  SPILLWAY_ASSIGN_OR_RETURN(spec.identity, FindRank());
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator,
                            OpenCommunicator(spec));
  SPILLWAY_ASSIGN_OR_RETURN(const nlohmann::ordered_json json,
                            Measure(*communicator));
  SPILLWAY_RETURN_IF_ERROR(communicator->Barrier());
  if (communicator->rank() != 0) return absl::OkStatus();
  fmt::print(
      "beside a computation: all-reduce {:.2f}, computation {:.2f} "
      "times longer\n",
      1 + json["all_reduce_slowdown"].get<double>(),
      1 + json["compute_slowdown"].get<double>());
  if (argc < 2) return absl::OkStatus();
  return WriteFileAtomically(argv[1], FormatJson(json));
}

}  // namespace
}  // namespace spillway

// What throws here, such as a thread that cannot start, may end the program.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  const absl::Status status = spillway::Run(argc, argv);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.ToString());
  return status.ok() ? 0 : 1;
}
