#include "tools/spillway/flags/exchange_flags.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "tuner/saved_plan.h"

namespace spillway {
namespace {

constexpr double kMegabyte = 1 << 20;
constexpr int64_t kMostElements = int64_t{1} << 29;

// Bytes from a flag in MiB.
void AddBytes(FlagSet& set, const std::string& name, int64_t& bytes,
              const std::string& help) {
  set.Add(name, bytes,
          [](const std::string& flag, const std::string& text) {
            double megabytes = 0;
            if (!absl::SimpleAtod(text, &megabytes) || !(megabytes > 0) ||
                megabytes > 2048) {
              RefuseFlag(flag, fmt::format("\"{}\" is not a number above 0, up "
                                           "to 2048",
                                           text));
            }
            return std::max<int64_t>(
                4, static_cast<int64_t>(megabytes * kMegabyte));
          })
      ->type_name("MIB")
      ->description(help);
}

DType ParseWire(const std::string& name, const std::string& text) {
  if (text == "fp16") return DType::kFloat16;
  if (text == "bf16") return DType::kBFloat16;
  RefuseFlag(name, fmt::format("\"{}\" is not one of fp16, bf16", text));
}

void AddReductionFlags(FlagSet& set, ExchangeFlags& flags) {
  set.Choice("--reduce", flags.reduce,
             {.help = "what ranks exchange: gradients (default plain), those "
                      "of half the bytes, the largest elements of them, or "
                      "a part of the variables after each update, in turn",
              .choices = {"plain", "half", "sparse", "partial"}});
  set.Add("--wire", flags.wire, ParseWire)
      ->type_name("fp16|bf16")
      ->description("type that --reduce half sends; default fp16");
  set.Real("--wire_scale", flags.wire_scale,
           {.help = "power of two that gradients of --reduce half are "
                    "multiplied by while they are sent; default 1",
            .min = 0x1p-30,
            .max = 0x1p30});
  set.Real("--clip_wire", flags.clip_wire,
           {.help = "limit each element of a rank's own gradients to -X and X "
                    "before they are added",
            .min = 1e-30,
            .max = 1e30});
  set.AtEnd([&flags] {
    int exponent = 0;
    if (std::frexp(flags.wire_scale, &exponent) != 0.5) {
      RefuseFlag("--wire_scale",
                 fmt::format("{} is not a power of two", flags.wire_scale));
    }
  });
}

void AddSparseFlags(FlagSet& set, ExchangeFlags& flags) {
  set.Real("--spars", flags.spars,
           {.help = "with --reduce sparse, what is sent of the gradients: "
                    "elements of at least this magnitude, or with --topk, this "
                    "part of them; default 0.05",
            .min = 1e-30,
            .max = 1e30});
  set.Bool("--topk", flags.topk,
           "with --reduce sparse: send the largest elements of each bucket");
  set.Bool("--corr", flags.corr,
           "with --reduce sparse: add what was not sent to the gradients of "
           "the next update; default true");
  set.Bool("--sync_momentum", flags.sync_momentum,
           "with --reduce partial: average the optimizer's slots, too");
  set.Int("--full_sync_every", flags.full_sync_every,
          {.help = "with --reduce partial: average all variables every so many "
                   "updates",
           .min = 1,
           .max = 1'000'000'000});
}

// Flags that belong to one way, and ways that exclude a flag.
void CheckReduction(const FlagSet& set, const ExchangeFlags& flags) {
  for (const auto& [setting, ways] : WaysOfExchangeSettings()) {
    const std::string flag = "--" + setting;
    if (set.IsGiven(flag) && std::ranges::count(ways, flags.reduce) == 0) {
      RefuseFlag(flag, fmt::format("applies to --reduce {}",
                                   fmt::join(ways, " and ")));
    }
  }
  if (flags.topk && flags.spars > 1) {
    RefuseFlag("--spars", fmt::format("{} is not a part of the elements, from "
                                      "0 to 1, as --topk needs",
                                      flags.spars));
  }
}

}  // namespace

void AddExchangeFlags(FlagSet& set, ExchangeFlags& flags) {
  AddBytes(set, "--bucket_mb", flags.buckets.bytes,
           "gradients that are added together, in MiB; default 25");
  AddBytes(set, "--first_bucket_mb", flags.buckets.first_bytes,
           "the first of them; default 1");
  set.Int("--bucket_elements", flags.buckets.elements,
          {.help = "instead, SINGA's rule: until there are more elements; a "
                   "larger gradient alone",
           .min = 1,
           .max = kMostElements});
  AddReductionFlags(set, flags);
  AddSparseFlags(set, flags);
  set.AtEnd([&set, &flags] { CheckReduction(set, flags); });
  set.AtEnd([&set, &flags] {
    for (const char* name :
         {"--bucket_mb", "--first_bucket_mb", "--bucket_elements"}) {
      flags.has_buckets |= set.IsGiven(name);
    }
  });
}

absl::Status TakeBuckets(const std::string& plan, ExchangeFlags& flags) {
  if (plan.empty() || flags.has_buckets) return absl::OkStatus();
  const absl::StatusOr<std::optional<PlannedBuckets>> planned =
      LoadPlanBuckets(plan);
  if (!planned.ok()) return Annotate(planned.status(), "--plan");
  if (!*planned) return absl::OkStatus();
  flags.buckets = {.bytes = (*planned)->bytes,
                   .first_bytes = (*planned)->first_bytes,
                   .elements = (*planned)->elements};
  return Annotate(CheckBucketSpec(flags.buckets), "--plan: " + plan);
}

}  // namespace spillway
