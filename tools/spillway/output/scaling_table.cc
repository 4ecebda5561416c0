#include "tools/spillway/output/scaling_table.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "simulator/network/network_json.h"
#include "tools/spillway/output/result_json.h"

namespace spillway {
namespace {

// Of all ranks together.
double ImagesPerSecond(const ScalingPoint& point, int64_t batch_size) {
  return static_cast<double>(batch_size * point.ranks) * 1e9 /
         static_cast<double>(point.step_ns);
}

std::string DescribeLink(const NetworkLink& link) {
  return fmt::format("{:.4g} GB/s, {:.4g} us", link.bytes_per_second * 1e-9,
                     static_cast<double>(link.latency_ns) * 1e-3);
}

std::string DescribeNetwork(const NetworkModel& network) {
  std::string text = fmt::format(
      "{} all-reduce; {} between hosts",
      network.all_reduce ? std::string(AllReduceName(*network.all_reduce))
                         : "fastest",
      DescribeLink(network.between_hosts));
  if (network.ranks_per_host > 1) {
    text +=
        fmt::format("; {} within hosts of {} ranks",
                    DescribeLink(network.within_host), network.ranks_per_host);
  }
  if (network.is_staged) text += "; staged on the host";
  if (network.jitter > 0) {
    text += fmt::format("; jitter {:.3g} %", 100 * network.jitter);
  }
  return text;
}

std::string FormatScaling(const std::vector<ScalingPoint>& points,
                          const NetworkModel& network, int64_t batch_size) {
  std::string text =
      fmt::format("\nscaling      {}\n{:>7}{:>14}{:>14}{:>12}{:>12}{:>12}\n",
                  DescribeNetwork(network), "ranks", "step ms", "images/s",
                  "efficiency", "comm ms", "exposed ms");
  for (const ScalingPoint& point : points) {
    const std::string speed =
        batch_size == 0
            ? "-"
            : fmt::format("{:.1f}", ImagesPerSecond(point, batch_size));
    text += fmt::format("{:>7}{:>14.3f}{:>14}{:>12}{:>12.3f}{:>12.3f}\n",
                        point.ranks, Milliseconds(point.step_ns), speed,
                        fmt::format("{:.1f} %", 100 * point.efficiency),
                        Milliseconds(point.communication_ns),
                        Milliseconds(point.exposed_ns));
  }
  return text;
}

void AddScalingJson(const std::vector<ScalingPoint>& points,
                    const NetworkModel& network, int64_t batch_size,
                    Json& json) {
  json["workers"] = network.ranks;
  json["network"] = NetworkToJson(network);
  Json all = Json::array();
  for (const ScalingPoint& point : points) {
    Json row = {{"workers", point.ranks},
                {"step_ms", Milliseconds(point.step_ns)},
                {"images_per_sec", nullptr},
                {"efficiency", point.efficiency},
                {"communication_ms", Milliseconds(point.communication_ns)},
                {"exposed_ms", Milliseconds(point.exposed_ns)}};
    if (batch_size > 0) {
      row["images_per_sec"] = ImagesPerSecond(point, batch_size);
    }
    all.push_back(std::move(row));
  }
  json["scaling"] = std::move(all);
}

}  // namespace

absl::Status AddScaling(const ScalingSpec& spec, int64_t batch_size,
                        std::string& text, Json& json) {
  if (!spec.profile->network) return absl::OkStatus();
  const NetworkModel& network = *spec.profile->network;
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<ScalingPoint> points,
                            PredictScaling(spec));
  text += FormatScaling(points, network, batch_size);
  AddScalingJson(points, network, batch_size, json);
  return absl::OkStatus();
}

std::string FormatBucketSizes(const TunedBuckets& tuned) {
  std::string text =
      fmt::format("\n{:>12}{:>14}{:>14}\n", "buckets", "step ms", "device");
  for (const BucketAttempt& attempt : tuned.tried) {
    const bool is_chosen = attempt.bucket_bytes == tuned.bucket_bytes;
    text += attempt.fits ? fmt::format("{:>12}{:>14.3f}{:>14}{}\n",
                                       FormatBytes(attempt.bucket_bytes),
                                       Milliseconds(attempt.step_ns),
                                       FormatBytes(attempt.device_bytes),
                                       is_chosen ? "  chosen" : "")
                         : fmt::format("{:>12}{:>14}{:>14}\n",
                                       FormatBytes(attempt.bucket_bytes),
                                       "does not fit", "-");
  }
  return text;
}

Json BucketSizesJson(const TunedBuckets& tuned) {
  Json tried = Json::array();
  for (const BucketAttempt& attempt : tuned.tried) {
    tried.push_back({{"bucket_bytes", attempt.bucket_bytes},
                     {"fits", attempt.fits},
                     {"step_ms", Milliseconds(attempt.step_ns)},
                     {"peak_device_bytes", attempt.device_bytes}});
  }
  return {{"chosen", tuned.bucket_bytes}, {"tried", std::move(tried)}};
}

}  // namespace spillway
