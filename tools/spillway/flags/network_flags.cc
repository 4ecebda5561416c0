#include "tools/spillway/flags/network_flags.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "tuner/network_options.h"

namespace spillway {
namespace {

// Of one number, the powers of two up to it, and itself.
std::vector<int64_t> ParseWorkers(const std::string& name,
                                  const std::string& text) {
  std::vector<int64_t> workers;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    int64_t ranks = 0;
    if (!absl::SimpleAtoi(item, &ranks) || ranks < 1 || ranks > kMostRanks) {
      RefuseFlag(name, fmt::format("\"{}\" is not a list of numbers from 1 to "
                                   "{}",
                                   text, kMostRanks));
    }
    workers.push_back(ranks);
  }
  if (workers.size() == 1) {
    for (int64_t ranks = 1; ranks < workers[0]; ranks *= 2) {
      workers.push_back(ranks);
    }
  }
  std::ranges::sort(workers);
  workers.erase(std::unique(workers.begin(), workers.end()), workers.end());
  return workers;
}

AllReduceChoice ParseAllReduce(const std::string& name,
                               const std::string& text) {
  if (text == "auto") return AllReduceChoice::kAuto;
  if (text == "ring") return AllReduceChoice::kRing;
  if (text == "tree") return AllReduceChoice::kTree;
  if (text == "hierarchical") return AllReduceChoice::kHierarchical;
  RefuseFlag(name, fmt::format("\"{}\" is not one of auto, ring, tree, "
                               "hierarchical",
                               text));
}

std::optional<int64_t> ParseRanksPerHost(const std::string& name,
                                         const std::string& text) {
  int64_t ranks = 0;
  if (absl::SimpleAtoi(text, &ranks) && ranks >= 1 && ranks <= kMostRanks) {
    return ranks;
  }
  RefuseFlag(name, fmt::format("\"{}\" is not a number from 1 to {}", text,
                               kMostRanks));
}

void AddLinkFlags(FlagSet& set, NetworkOptions& network) {
  set.Real("--network_gbps", network.network_gbps,
           {.help = "network between hosts, in 1e9 bytes per second in each "
                    "direction (100 Gbit/s: 12.5); default: that of the "
                    "profile",
            .min = kLeastGbps,
            .max = kMostGbps});
  set.Real("--network_latency_us", network.network_latency_us,
           {.help = "and the microseconds of a message; default: those of the "
                    "profile, else 5",
            .max = kMostLatencyUs});
  set.Add("--ranks_per_host", network.ranks_per_host, ParseRanksPerHost)
      ->type_name("N")
      ->description(
          "ranks of a host, which share its network; default: that of the "
          "profile, else 1");
  set.Real("--intra_host_gbps", network.intra_host_gbps,
           {.help = "links within a host, of which each rank has one; "
                    "default: those of the profile, else as between hosts",
            .min = kLeastGbps,
            .max = kMostGbps});
  set.Real("--intra_host_latency_us", network.intra_host_latency_us,
           {.help = "and the microseconds of a message within a host",
            .max = kMostLatencyUs});
}

// Refuses flags that do nothing without --workers.
void CheckNeedsWorkers(const FlagSet& set) {
  if (set.IsGiven("--workers")) return;
  for (const char* name :
       {"--network_gbps", "--network_latency_us", "--ranks_per_host",
        "--intra_host_gbps", "--intra_host_latency_us", "--allreduce",
        "--staged_allreduce", "--rank_jitter", "--bucket_mb",
        "--first_bucket_mb", "--bucket_elements", "--reduce"}) {
    if (set.IsGiven(name)) Refuse(fmt::format("{} needs --workers", name));
  }
}

}  // namespace

void AddNetworkFlags(FlagSet& set, NetworkFlags& flags, StepOptions& step,
                     GraphSourceFlags& source) {
  set.BeginGroup("Workers");
  set.Add("--workers", flags.workers, ParseWorkers)
      ->type_name("N[,N...]")
      ->description(
          "predict a run of so many ranks (up to 1048576) with this plan: the "
          "last number is that of the plan, the others are for the table; of "
          "one number, the table has the powers of two up to it");
  AddLinkFlags(set, step.network);
  set.Add("--allreduce", step.network.allreduce, ParseAllReduce)
      ->type_name("auto|ring|tree|hierarchical")
      ->description(
          "algorithm of all-reduces: auto (default), for each size the "
          "fastest; hierarchical: within hosts, then between them");
  set.Bool("--staged_allreduce", flags.staged_allreduce,
           "all-reduces copy their bytes to the host and back, over the link "
           "of swaps");
  set.Real("--rank_jitter", step.network.rank_jitter,
           {.help = "standard deviation of a rank's kernel time, in parts of "
                    "its mean: all wait for the last rank; default: that of "
                    "the profile, else 0",
            .max = kMostJitter});
  AddExchangeFlags(set, source.exchange);
  set.AtEnd([&set, &flags, &step, &source] {
    CheckNeedsWorkers(set);
    if (set.IsGiven("--staged_allreduce")) {
      step.network.staged_allreduce = flags.staged_allreduce;
    }
    if (flags.workers.empty()) return;
    step.network.workers = flags.workers.back();
    source.ranks = flags.workers.back();
    if (source.ranks > 1 && source.forward_only) {
      Refuse("--workers excludes --forward_only: nothing is added over ranks");
    }
  });
}

}  // namespace spillway
