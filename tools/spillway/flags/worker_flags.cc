#include "tools/spillway/flags/worker_flags.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "comm/exit_status.h"
#include "comm/open_communicator.h"
#include "comm/ranks.h"
#include "executor/gpu_of_rank.h"
#include "fmt/format.h"
#include "tools/spillway/exit_status.h"

namespace spillway {
namespace {

InitSync ParseInitSync(const std::string& name, const std::string& text) {
  if (text == "broadcast") return InitSync::kBroadcast;
  if (text == "average") return InitSync::kAverage;
  if (text == "check") return InitSync::kCheck;
  RefuseFlag(name, fmt::format("\"{}\" is not one of broadcast, average, check",
                               text));
}

// Of OpenCommunicator, and "thread": only the devices of one process.
std::vector<std::string> BackendNames() {
  std::vector<std::string> names(CommBackends().begin(), CommBackends().end());
  names.emplace_back("thread");
  return names;
}

std::vector<double> ParseLoads(const std::string& name,
                               const std::string& text) {
  std::vector<double> loads;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    double load = 0;
    if (!absl::SimpleAtod(item, &load)) {
      RefuseFlag(name, fmt::format("\"{}\" is not a list of numbers", text));
    }
    loads.push_back(load);
  }
  return loads;
}

SplitRule ParseSplitRule(const std::string& name, const std::string& text) {
  if (text == "balanced") return SplitRule::kBalanced;
  if (text == "compat") return SplitRule::kCompat;
  RefuseFlag(name, fmt::format("\"{}\" is not one of balanced, compat", text));
}

void AddDeviceGroupFlags(FlagSet& set, WorkerFlags& flags) {
  set.Int("--num_devices", flags.num_devices,
          {.help = "devices of this process that train together, each on a "
                   "part of the batch; those of the CPU share its cores; "
                   "default 1",
           .min = 1,
           .max = 1024});
  set.Add("--work_load_list", flags.loads, ParseLoads)
      ->type_name("A,B,...")
      ->description(
          "the parts of the batch that the devices get, in proportion; "
          "default: equal ones");
  set.Add("--work_load_rule", flags.split, ParseSplitRule)
      ->type_name("balanced|compat")
      ->description(
          "how parts are rounded to rows: by largest remainder (default), or "
          "as MXNet's Scala package does");
  set.AtEnd([&set, &flags] {
    const auto devices = static_cast<size_t>(flags.num_devices);
    if (set.IsGiven("--work_load_list") && flags.loads.size() != devices) {
      RefuseFlag("--work_load_list",
                 fmt::format("{} for {} (--num_devices)",
                             Counted(flags.loads.size(), "load"),
                             Counted(devices, "device")));
    }
    if (devices > 1 && flags.loads.empty()) flags.loads.assign(devices, 1);
    if (devices == 1) flags.loads.clear();
  });
}

void AddCommFlags(FlagSet& set, WorkerFlags& flags) {
  set.Choice("--comm", flags.comm,
             {.help = "how ranks communicate; default auto: mpi for those of "
                      "mpirun, else gloo, and nccl if each has a GPU of its "
                      "own; thread: only the devices of one process",
              .choices = BackendNames()});
  set.Text("--comm_interface", flags.interface,
           "network interface that gloo listens on; default: loopback, for "
           "ranks on one host");
  set.Real("--comm_timeout", flags.timeout_seconds,
           {.help = "seconds after which a rank is late; default 600",
            .min = 0.001,
            .max = 1e6});
  set.Bool("--deterministic_reduce", flags.deterministic_reduce,
           "add in the order of the ranks: the same bits with every --comm, at "
           "as many times the traffic as there are ranks");
  set.Bool("--check_calls", flags.check_calls,
           "compare the ranks' calls before each: finds where they part");
  set.Real("--comm_gbps", flags.comm_gbps,
           {.help = "slow collectives down to a ring of links of so many 1e9 "
                    "bytes per second: tries out a slower network",
            .min = 1e-6,
            .max = 1e6});
}

}  // namespace

void AddWorkerFlags(FlagSet& set, WorkerFlags& flags) {
  set.BeginGroup("Workers");
  AddDeviceGroupFlags(set, flags);
  AddCommFlags(set, flags);
  AddExchangeFlags(set, flags.exchange);
  set.AtEnd([&flags] {
    if (flags.exchange.reduce == "partial" && flags.check_replicas > 0) {
      RefuseFlag("--check_replicas",
                 "with --reduce partial, each rank has variables of its own");
    }
  });
  set.Add("--init_sync", flags.init_sync, ParseInitSync)
      ->type_name("broadcast|average|check")
      ->description(
          "variables at the beginning: rank 0's (default), their mean, or an "
          "error if they differ");
  set.Int("--check_replicas", flags.check_replicas,
          {.help = "compare the ranks' variables every so many updates",
           .min = 1,
           .max = 1'000'000'000});
  set.Choice("--lr_scale", flags.lr_scale,
             {.help = "multiply the learning rate by the number of ranks or "
                      "its root; default none",
              .choices = {"none", "linear", "sqrt"}});
  set.Choice("--partition", flags.partition,
             {.help = "rows at the end of an epoch that do not fill an update: "
                      "left out, filled up with the first rows, or divided "
                      "unevenly; default: as --tail",
              .choices = {"drop", "pad", "uneven"}});
  set.Folder("--json_all_ranks", flags.json_all_ranks,
             "write the result of each rank to FOLDER/rank_N.json");
}

CommOptions CommOptionsOf(const WorkerFlags& flags) {
  return {.timeout = std::chrono::milliseconds(
              std::llround(flags.timeout_seconds * 1000)),
          .deterministic_reduce = flags.deterministic_reduce,
          .check_calls = flags.check_calls,
          .slow_bytes_per_second = flags.comm_gbps * 1e9};
}

absl::StatusOr<std::unique_ptr<Communicator>> OpenWorkers(
    const WorkerFlags& flags, std::string& device) {
  CommSpec spec = {.backend = flags.comm == "thread" ? "self" : flags.comm,
                   .interface = flags.interface,
                   .options = CommOptionsOf(flags)};
  SPILLWAY_ASSIGN_OR_RETURN(spec.identity, FindRank());
  if (spec.identity.size == 1) return nullptr;
  // Several devices of a process exchange through the host's memory.
  if (flags.num_devices == 1) {
    auto gpu = FindGpuOfRank(device, spec.identity);
    if (!gpu.ok()) return Annotate(gpu.status(), "--device");
    spec.gpu = *std::move(gpu);
    if (spec.gpu) device = spec.gpu->device;
  }
  absl::StatusOr<std::unique_ptr<Communicator>> opened = OpenCommunicator(spec);
  if (!opened.ok()) {
    return WithWorkerStatus(Annotate(opened.status(), "--comm"));
  }
  return opened;
}

Tail TailOf(const WorkerFlags& flags, Tail tail) {
  if (flags.partition == "drop") return Tail::kDrop;
  if (flags.partition == "pad") return Tail::kPad;
  return flags.partition == "uneven" ? Tail::kPartial : tail;
}

double RateScale(const WorkerFlags& flags, int world_size) {
  if (flags.lr_scale == "linear") return world_size;
  return flags.lr_scale == "sqrt" ? std::sqrt(world_size) : 1;
}

absl::Status WithWorkerStatus(const absl::Status& error) {
  const std::optional<int> exit_status = RankExitStatus(error);
  return exit_status ? WithExitStatus(error, *exit_status) : error;
}

}  // namespace spillway
