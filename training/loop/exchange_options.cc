#include "training/loop/exchange_options.h"

namespace spillway {

const std::map<std::string, std::vector<std::string>>&
WaysOfExchangeSettings() {
  static const auto& ways =
      *new std::map<std::string, std::vector<std::string>>{
          {"wire", {"half"}},
          {"wire_scale", {"half"}},
          {"clip_wire", {"plain", "half"}},
          {"spars", {"sparse"}},
          {"topk", {"sparse"}},
          {"corr", {"sparse"}},
          {"sync_momentum", {"partial"}},
          {"full_sync_every", {"partial"}}};
  return ways;
}

WireFormat WireOf(const ExchangeOptions& options) {
  const bool is_half = options.reduce == "half";
  return {.dtype = is_half ? options.wire.value_or(DType::kFloat16)
                           : DType::kFloat32,
          .scale = options.wire_scale,
          .clip = options.clip_wire};
}

std::optional<SparseGradients> SparseOf(const ExchangeOptions& options) {
  if (options.reduce != "sparse") return std::nullopt;
  SparseGradients sparse = {.keeps_residuals = options.corr};
  (options.topk ? sparse.topk_fraction : sparse.min_magnitude) = options.spars;
  return sparse;
}

std::optional<PartialUpdates> PartialOf(const ExchangeOptions& options) {
  if (options.reduce != "partial") return std::nullopt;
  return PartialUpdates{.averages_slots = options.sync_momentum,
                        .full_every = options.full_sync_every};
}

}  // namespace spillway
