#include "tuner/profile/plausible_profile.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/statistics.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

// Times of copies that differ by less than this factor are equal up to noise.
constexpr int64_t kNoiseFactor = 2;

constexpr double kLeastScale = 0.1;
constexpr double kMostScale = 10;

bool IsTime(double ns) { return std::isfinite(ns) && ns > 0; }

bool Counts(const ContentionRound& round) {
  return IsTime(round.alone_ns) && IsTime(round.beside_ns) &&
         IsTime(round.copying_ns) && round.copied_bytes > 0;
}

double RawScale(const KernelScaleInputs& inputs) {
  return (inputs.step_ns - inputs.others_ns - inputs.call_ns) /
         std::max(1.0, inputs.kernels_ns);
}

// Changes the numbers of one profile and notes each change.
class Corrector {
 public:
  std::vector<std::string> TakeNotes() { return std::move(notes_); }

  void Clamp(const std::string& field, int64_t least, int64_t& value) {
    const int64_t kept =
        std::clamp(value, least, static_cast<int64_t>(kMostProfileInteger));
    if (kept == value) return;
    Note(field, value, kept);
    value = kept;
  }

  void Clamp(const std::string& field, double least, double most,
             double& value) {
    const double kept =
        std::isnan(value) ? least : std::clamp(value, least, most);
    if (kept == value) return;
    Note(field, value, kept);
    value = kept;
  }

  void Rate(const std::string& field, double& value) {
    Clamp(field, kLeastProfileRate, kMostProfileRate, value);
  }

  // Lowers `value` to `most`; notes a change larger than noise.
  void Lower(const std::string& field, int64_t most, int64_t& value) {
    if (value <= most) return;
    if (value / kNoiseFactor >= most) Note(field, value, most);
    value = most;
  }

 private:
  template <typename Number>
  void Note(const std::string& field, Number measured, Number kept) {
    notes_.push_back(
        fmt::format("{}: measured {}, kept as {}", field, measured, kept));
  }

  std::vector<std::string> notes_;
};

void CorrectTable(Corrector& corrector, const std::string& name,
                  std::vector<CopyTime>& table) {
  for (size_t i = table.size(); i-- > 0;) {
    CopyTime& time = table[i];
    const std::string field = fmt::format("{}.by_size[{}]", name, i);
    corrector.Clamp(field + ".alone_ns", 1, time.alone_ns);
    corrector.Clamp(field + ".shared_ns", 1, time.shared_ns);
    if (i + 1 < table.size()) {
      corrector.Lower(field + ".alone_ns", table[i + 1].alone_ns,
                      time.alone_ns);
      corrector.Lower(field + ".shared_ns", table[i + 1].shared_ns,
                      time.shared_ns);
    }
    corrector.Lower(field + ".alone_ns", time.shared_ns, time.alone_ns);
  }
}

void CorrectLink(Corrector& corrector, const std::string& name,
                 LinkDirection& link) {
  const std::vector<CopyTime> measured = link.by_size;
  CorrectTable(corrector, name, link.by_size);
  if (link.by_size != measured) SummarizeTable(link);
  corrector.Clamp(name + ".latency_ns", 0, link.latency_ns);
  corrector.Rate(name + ".bytes_per_second", link.bytes_per_second);
  corrector.Rate(name + ".shared_bytes_per_second",
                 link.shared_bytes_per_second);
}

void CorrectKernels(Corrector& corrector, DeviceProfile& profile) {
  for (auto& [signature, ns] : profile.kernels) {
    corrector.Clamp("kernels." + signature, 0, ns);
  }
  for (auto& [signature, algorithms] : profile.algorithms) {
    for (auto& [name, measured] : algorithms) {
      const std::string field =
          fmt::format("algorithms.{}.{}", signature, name);
      corrector.Clamp(field + ".workspace_bytes", 0, measured.workspace_bytes);
      corrector.Clamp(field + ".ns", 0, measured.ns);
    }
  }
}

}  // namespace

std::optional<double> SlowdownOf(std::span<const ContentionRound> rounds) {
  std::vector<double> slowdowns;
  for (const ContentionRound& round : rounds) {
    if (!Counts(round)) continue;
    const double ns_per_byte =
        round.copying_ns / static_cast<double>(round.copied_bytes);
    slowdowns.push_back((round.beside_ns / round.alone_ns - 1) * ns_per_byte);
  }
  if (slowdowns.empty()) return std::nullopt;
  const double slowdown = std::max(0.0, Median(slowdowns));
  return slowdown <= kMostNsPerCopiedByte ? std::optional(slowdown)
                                          : std::nullopt;
}

std::optional<double> KernelScale(const KernelScaleInputs& inputs) {
  const double scale = RawScale(inputs);
  return scale >= kLeastScale && scale <= kMostScale ? std::optional(scale)
                                                     : std::nullopt;
}

double ClampedKernelScale(const KernelScaleInputs& inputs) {
  const double scale = RawScale(inputs);
  return std::isnan(scale) ? 1 : std::clamp(scale, kLeastScale, kMostScale);
}

std::vector<std::string> MakePlausible(DeviceProfile& profile) {
  Corrector corrector;
  corrector.Clamp("memory_bytes", 1, profile.memory_bytes);
  CorrectLink(corrector, "to_host", profile.to_host);
  CorrectLink(corrector, "to_device", profile.to_device);
  corrector.Rate("memory_bytes_per_second", profile.memory_bytes_per_second);
  corrector.Clamp("memory_efficiency", kLeastProfileEfficiency, 1,
                  profile.memory_efficiency);
  for (auto& [dtype, rate] : profile.flops_per_second) {
    corrector.Rate(
        fmt::format("flops_per_second.{}", std::string(DTypeName(dtype))),
        rate);
  }
  corrector.Clamp("compute_efficiency", kLeastProfileEfficiency, 1,
                  profile.compute_efficiency);
  corrector.Clamp("kernel_ns", 0, profile.kernel_ns);
  corrector.Clamp("issue_ns", 0, profile.issue_ns);
  corrector.Clamp("call_ns", 0, profile.call_ns);
  corrector.Clamp("wake_ns", 0, profile.wake_ns);
  corrector.Clamp("kernel_ns_per_copied_byte", 0, kMostNsPerCopiedByte,
                  profile.kernel_ns_per_copied_byte);
  CorrectKernels(corrector, profile);
  return corrector.TakeNotes();
}

absl::StatusOr<PlausibleProfile> MeasurePlausibly(
    const std::function<absl::StatusOr<DeviceProfile>()>& measure) {
  std::optional<PlausibleProfile> best;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    PlausibleProfile measured;
    SPILLWAY_ASSIGN_OR_RETURN(measured.profile, measure());
    measured.notes = MakePlausible(measured.profile);
    if (measured.notes.empty()) return measured;
    if (!best || measured.notes.size() < best->notes.size()) {
      best = std::move(measured);
    }
  }
  return *std::move(best);
}

}  // namespace spillway
