#include "tools/spillway/command/step_timing.h"

#include <algorithm>

#include "fmt/format.h"
#include "tools/spillway/output/result_json.h"

namespace spillway {

namespace {

double PercentAbove(const StepTimeBound& bound, int64_t step_ns) {
  const int64_t least_ns = std::max<int64_t>(1, bound.step_ns);
  return 100.0 * static_cast<double>(step_ns - least_ns) /
         static_cast<double>(least_ns);
}

}  // namespace

std::string FormatTiming(const StepTiming& timing) {
  const auto percent = [&](Lane lane) {
    return 100 * timing.busy_ms(lane) / timing.step_ms();
  };
  const std::string speed =
      timing.batch_size == 0
          ? ""
          : fmt::format(", {:.1f} images/s{}", timing.images_per_second(),
                        timing.ranks > 1 ? " a rank" : "");
  std::string others;  // lanes that most steps do not have
  for (const Lane lane : {Lane::kHost, Lane::kCommunication}) {
    if (timing.busy_ms(lane) == 0) continue;
    others += fmt::format(", {} {:.1f} %", LaneName(lane), percent(lane));
  }
  const double communication_ms = timing.stall_ms(StallCause::kCommunication);
  const std::string communication =
      communication_ms > 0
          ? fmt::format(", {:.3f} for communication", communication_ms)
          : "";
  return fmt::format(
      "step         {:.3f} ms{} on {}\n"
      "busy         compute {:.1f} %, copy out {:.1f} %, copy in {:.1f} %{}\n"
      "stalls       {:.3f} ms for copies in, {:.3f} for copies out, {:.3f} for "
      "the host{}\n",
      timing.step_ms(), speed, timing.profile, percent(Lane::kCompute),
      percent(Lane::kCopyOut), percent(Lane::kCopyIn), others,
      timing.stall_ms(StallCause::kCopyIn),
      timing.stall_ms(StallCause::kCopyOut),
      timing.stall_ms(StallCause::kIssue), communication);
}

std::string FormatBound(const StepTimeBound& bound, int64_t step_ns) {
  return fmt::format(
      "bound        {:.3f} ms by {}; this plan is {:.1f} % above it\n",
      Milliseconds(bound.step_ns), BoundReason(bound),
      PercentAbove(bound, step_ns));
}

Json BoundJson(const StepTimeBound& bound, int64_t step_ns) {
  return {{"step_ms", Milliseconds(bound.step_ns)},
          {"reason", BoundReason(bound)},
          {"kernels_ms", Milliseconds(bound.kernels_ns)},
          {"copies_out_ms", Milliseconds(bound.out_ns)},
          {"copies_in_ms", Milliseconds(bound.in_ns)},
          {"recompute_ms", Milliseconds(bound.recompute_ns)},
          {"issue_ms", Milliseconds(bound.issue_ns)},
          {"communication_ms", Milliseconds(bound.communication_ns)},
          {"gap_percent", PercentAbove(bound, step_ns)}};
}

void AddTimingJson(const StepTiming& timing, Json& json) {
  json["profile"] = timing.profile;
  json["step_ms"] = timing.step_ms();
  json["images_per_sec"] = nullptr;
  if (timing.batch_size > 0) {
    json["images_per_sec"] = timing.images_per_second();
  }
  const auto lane = [&](Lane which) {
    return Json{{"busy_ms", timing.busy_ms(which)},
                {"idle_ms", timing.step_ms() - timing.busy_ms(which)}};
  };
  json["lanes"] = {{"compute", lane(Lane::kCompute)},
                   {"copy_out", lane(Lane::kCopyOut)},
                   {"copy_in", lane(Lane::kCopyIn)}};
  for (const Lane other : {Lane::kHost, Lane::kCommunication}) {
    if (timing.busy_ms(other) == 0) continue;
    json["lanes"][std::string(LaneName(other))] = lane(other);
  }
  json["stall_ms"] = {{"copy_in", timing.stall_ms(StallCause::kCopyIn)},
                      {"copy_out", timing.stall_ms(StallCause::kCopyOut)},
                      {"issue", timing.stall_ms(StallCause::kIssue)}};
  const double communication_ms = timing.stall_ms(StallCause::kCommunication);
  if (communication_ms > 0) {
    json["stall_ms"]["communication"] = communication_ms;
  }
}

}  // namespace spillway
