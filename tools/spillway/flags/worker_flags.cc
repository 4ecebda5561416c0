#include "tools/spillway/flags/worker_flags.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
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
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "tools/spillway/exit_status.h"

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

InitSync ParseInitSync(const std::string& name, const std::string& text) {
  if (text == "broadcast") return InitSync::kBroadcast;
  if (text == "average") return InitSync::kAverage;
  if (text == "check") return InitSync::kCheck;
  RefuseFlag(name, fmt::format("\"{}\" is not one of broadcast, average, check",
                               text));
}

DType ParseWire(const std::string& name, const std::string& text) {
  if (text == "fp16") return DType::kFloat16;
  if (text == "bf16") return DType::kBFloat16;
  RefuseFlag(name, fmt::format("\"{}\" is not one of fp16, bf16", text));
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
                      "mpirun, else gloo; thread: only the devices of one "
                      "process",
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
}

void AddReductionFlags(FlagSet& set, WorkerFlags& flags) {
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

void AddSparseFlags(FlagSet& set, WorkerFlags& flags) {
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
void CheckReduction(const FlagSet& set, const WorkerFlags& flags) {
  const std::map<std::string, std::vector<std::string>> ways = {
      {"--wire", {"half"}},
      {"--wire_scale", {"half"}},
      {"--clip_wire", {"plain", "half"}},
      {"--spars", {"sparse"}},
      {"--topk", {"sparse"}},
      {"--corr", {"sparse"}},
      {"--sync_momentum", {"partial"}},
      {"--full_sync_every", {"partial"}}};
  for (const auto& [flag, allowed] : ways) {
    if (set.IsGiven(flag) && std::ranges::count(allowed, flags.reduce) == 0) {
      RefuseFlag(flag, fmt::format("applies to --reduce {}",
                                   fmt::join(allowed, " and ")));
    }
  }
  if (flags.topk && flags.spars > 1) {
    RefuseFlag("--spars", fmt::format("{} is not a part of the elements, from "
                                      "0 to 1, as --topk needs",
                                      flags.spars));
  }
  if (flags.reduce == "partial" && flags.check_replicas > 0) {
    RefuseFlag("--check_replicas",
               "with --reduce partial, each rank has variables of its own");
  }
}

}  // namespace

void AddWorkerFlags(FlagSet& set, WorkerFlags& flags) {
  set.BeginGroup("Workers");
  AddDeviceGroupFlags(set, flags);
  AddCommFlags(set, flags);
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
          .check_calls = flags.check_calls};
}

absl::StatusOr<std::unique_ptr<Communicator>> OpenWorkers(
    const WorkerFlags& flags) {
  CommSpec spec = {.backend = flags.comm == "thread" ? "self" : flags.comm,
                   .interface = flags.interface,
                   .options = CommOptionsOf(flags)};
  SPILLWAY_ASSIGN_OR_RETURN(spec.identity, FindRank());
  if (spec.identity.size == 1) return nullptr;
  absl::StatusOr<std::unique_ptr<Communicator>> opened = OpenCommunicator(spec);
  if (!opened.ok()) {
    return WithWorkerStatus(Annotate(opened.status(), "--comm"));
  }
  return opened;
}

WireFormat WireOf(const WorkerFlags& flags) {
  const bool is_half = flags.reduce == "half";
  return {
      .dtype = is_half ? flags.wire.value_or(DType::kFloat16) : DType::kFloat32,
      .scale = flags.wire_scale,
      .clip = flags.clip_wire};
}

std::optional<SparseGradients> SparseOf(const WorkerFlags& flags) {
  if (flags.reduce != "sparse") return std::nullopt;
  SparseGradients sparse = {.keeps_residuals = flags.corr};
  (flags.topk ? sparse.topk_fraction : sparse.min_magnitude) = flags.spars;
  return sparse;
}

std::optional<PartialUpdates> PartialOf(const WorkerFlags& flags) {
  if (flags.reduce != "partial") return std::nullopt;
  return PartialUpdates{.averages_slots = flags.sync_momentum,
                        .full_every = flags.full_sync_every};
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
