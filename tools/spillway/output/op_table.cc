#include "tools/spillway/output/op_table.h"

#include "fmt/format.h"
#include "tools/spillway/output/result_json.h"

namespace spillway {
namespace {

std::string FormatShare(const OpShare& share) {
  return fmt::format("  {:<32}{:>7}{:>12.3f}{:>9.1f} %{:>9.1f} %{:>9.1f} %\n",
                     share.op, share.nodes, Milliseconds(share.ns),
                     100 * share.of_time, 100 * share.of_flops_peak,
                     100 * share.of_memory_peak);
}

}  // namespace

std::string FormatShares(const StepShares& shares) {
  constexpr double kLeast = 0.005;
  std::string text =
      fmt::format("  {:<32}{:>7}{:>12}{:>11}{:>11}{:>11}\n", "op", "nodes",
                  "ms", "of time", "of flops", "of memory");
  text += FormatShare(shares.all);
  for (const OpShare& share : shares.ops) {
    if (share.of_time >= kLeast) text += FormatShare(share);
  }
  return text;
}

Json SharesJson(const StepShares& shares) {
  const auto to_json = [](const OpShare& share) {
    return Json{{"op", share.op},
                {"nodes", share.nodes},
                {"ms", Milliseconds(share.ns)},
                {"of_time", share.of_time},
                {"of_flops_peak", share.of_flops_peak},
                {"of_memory_peak", share.of_memory_peak}};
  };
  Json all = Json::array({to_json(shares.all)});
  for (const OpShare& share : shares.ops) all.push_back(to_json(share));
  return all;
}

}  // namespace spillway
