#include "graph/passes/standard_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "graph/passes/fuse_batch_norm_relu.h"
#include "graph/passes/fuse_bias_relu.h"
#include "graph/passes/merge_common_nodes.h"
#include "graph/passes/remove_dead_nodes.h"

namespace spillway {
namespace {

constexpr std::array<Pass, 4> kPasses = {{
    {"remove_dead_nodes", "removes what no result needs", RemoveDeadNodes},
    {"merge_common_nodes", "computes equal expressions once", MergeCommonNodes},
    {"fuse_batch_norm_relu", "batch norm, sum and ReLU in one",
     FuseBatchNormRelu},
    {"fuse_bias_relu", "bias and ReLU in one", FuseBiasRelu},
}};

absl::Status CheckNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::find(kPasses, name, &Pass::name) != kPasses.end())
      continue;
    std::string known;
    for (const Pass& pass : kPasses) known += fmt::format(" {}", pass.name);
    return InvalidArgument(
        fmt::format("there is no pass '{}'; known: all none{}", name, known));
  }
  return absl::OkStatus();
}

}  // namespace

std::span<const Pass> StandardPasses() { return kPasses; }

absl::StatusOr<std::vector<Pass>> SelectPasses(std::string_view names) {
  if (names == "all") return std::vector<Pass>(kPasses.begin(), kPasses.end());
  if (names == "none") return std::vector<Pass>();
  const std::vector<std::string> wanted =
      absl::StrSplit(std::string(names), ',');
  RETURN_IF_ERROR(CheckNames(wanted));
  std::vector<Pass> passes;
  for (const Pass& pass : kPasses) {
    const bool is_wanted = std::ranges::find(wanted, pass.name) != wanted.end();
    if (is_wanted) passes.push_back(pass);
  }
  return passes;
}

}  // namespace spillway
