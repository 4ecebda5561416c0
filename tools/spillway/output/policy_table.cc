#include "tools/spillway/output/policy_table.h"

#include "base/units.h"
#include "fmt/format.h"
#include "tools/spillway/output/result_json.h"

namespace spillway {
namespace {

std::string FormatPolicy(const PolicyResult& policy, int64_t batch_size) {
  const std::string bound =
      policy.bound_ns ? fmt::format("{:.3f}", Milliseconds(*policy.bound_ns))
                      : "-";
  if (!policy.fits) {
    return fmt::format("{:<5}{:>11}{:>12}{:>10}{:>11}{:>14}{:>12}  {}: {}\n",
                       "no", "-", "-", "-", "-", "-", bound, policy.name,
                       policy.reason);
  }
  const std::string speed =
      batch_size == 0
          ? "-"
          : fmt::format("{:.1f}", static_cast<double>(batch_size) * 1e9 /
                                      static_cast<double>(policy.step_ns));
  return fmt::format(
      "{:<5}{:>11}{:>12.3f}{:>10}{:>11}{:>14.3f}{:>12}  {}{}\n", "yes",
      FormatBytes(policy.device_bytes), Milliseconds(policy.step_ns), speed,
      FormatBytes(policy.moved_bytes), Milliseconds(policy.recompute_ns), bound,
      policy.name, policy.is_realised ? "" : " (no plan: played)");
}

}  // namespace

std::string FormatPolicies(const std::vector<PolicyResult>& policies,
                           int64_t batch_size) {
  std::string text = fmt::format(
      "{:<5}{:>11}{:>12}{:>10}{:>11}{:>14}{:>12}  {}\n", "fits", "device",
      "step ms", "images/s", "moved", "recompute ms", "bound ms", "policy");
  for (const PolicyResult& policy : policies) {
    text += FormatPolicy(policy, batch_size);
  }
  return text;
}

Json PoliciesJson(const std::vector<PolicyResult>& policies) {
  Json all = Json::array();
  for (const PolicyResult& policy : policies) {
    Json json = {{"name", policy.name},
                 {"step_ms", nullptr},
                 {"bound_ms", nullptr},
                 {"tried", true},
                 {"realised", policy.is_realised},
                 {"peak_device_bytes", policy.device_bytes},
                 {"moved_bytes", policy.moved_bytes},
                 {"recompute_ms", Milliseconds(policy.recompute_ns)}};
    if (policy.bound_ns) json["bound_ms"] = Milliseconds(*policy.bound_ns);
    if (policy.fits) json["step_ms"] = Milliseconds(policy.step_ns);
    if (!policy.fits) json["reason"] = policy.reason;
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace spillway
