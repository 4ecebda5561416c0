#include "graph/passes/standard_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "graph/passes/accumulate_gradients.h"
#include "graph/passes/fuse_batch_norm_relu.h"
#include "graph/passes/fuse_bias_relu.h"
#include "graph/passes/fuse_matmul_bias.h"
#include "graph/passes/fuse_updates.h"
#include "graph/passes/grow_concats.h"
#include "graph/passes/join_slices.h"
#include "graph/passes/merge_common_nodes.h"
#include "graph/passes/read_parts.h"
#include "graph/passes/remove_dead_nodes.h"
#include "graph/passes/save_masks.h"

namespace spillway {
namespace {

constexpr std::array<Pass, 11> kPasses = {{
    {"remove_dead_nodes", "removes what no result needs", RemoveDeadNodes},
    {"merge_common_nodes", "computes equal expressions once", MergeCommonNodes},
    {"join_slices", "gradients of slices side by side instead of summed",
     JoinSlices},
    {"fuse_batch_norm_relu", "batch norm, sum and ReLU in one",
     FuseBatchNormRelu},
    {"fuse_bias_relu", "bias and ReLU in one", FuseBiasRelu},
    {"save_masks", "gradients that read bits or places instead of tensors",
     SaveMasks},
    {"fuse_matmul_bias", "matrix product and bias in one", FuseMatMulBias,
     PassPays::kOnGpu},
    {"read_parts", "parts of tensors read where they lie", ReadParts,
     PassPays::kOnCpu},
    {"grow_concats", "concatenations that grow in place", GrowConcats,
     PassPays::kOnCpu},
    {"accumulate_gradients", "gradients that add to their sum in place",
     AccumulateGradients, PassPays::kOnGpu},
    {"fuse_updates", "updates of small variables in one", FuseUpdates,
     PassPays::kOnGpu},
}};

absl::Status CheckNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::find(kPasses, name, &Pass::name) != kPasses.end())
      continue;
    std::string known;
    for (const Pass& pass : kPasses) known += fmt::format(" {}", pass.name);
    return InvalidArgument(fmt::format(
        "there is no pass '{}'; known: auto all none{}", name, known));
  }
  return absl::OkStatus();
}

std::vector<Pass> Passes(absl::FunctionRef<bool(const Pass&)> is_wanted) {
  std::vector<Pass> passes;
  std::ranges::copy_if(kPasses, std::back_inserter(passes), is_wanted);
  return passes;
}

}  // namespace

std::span<const Pass> StandardPasses() { return kPasses; }

absl::StatusOr<std::vector<Pass>> SelectPasses(std::string_view names,
                                               PassTarget target) {
  if (names == "none") return std::vector<Pass>();
  if (names == "all") return Passes([](const Pass&) { return true; });
  if (names == "auto") {
    return Passes([target](const Pass& pass) {
      return pass.pays == PassPays::kEverywhere ||
             pass.pays == (target == PassTarget::kGpu ? PassPays::kOnGpu
                                                      : PassPays::kOnCpu);
    });
  }
  const std::vector<std::string> wanted =
      absl::StrSplit(std::string(names), ',');
  SPILLWAY_RETURN_IF_ERROR(CheckNames(wanted));
  return Passes([&](const Pass& pass) {
    return std::ranges::find(wanted, pass.name) != wanted.end();
  });
}

}  // namespace spillway
