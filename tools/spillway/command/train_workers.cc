#include "tools/spillway/command/train_workers.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "simulator/network/communication_use.h"
#include "spdlog/spdlog.h"
#include "tools/spillway/output/result_json.h"

namespace spillway {
namespace {

std::string HostName() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

// Of --reduce sparse, the part of the gradients' elements that a rank has sent:
// pairs of twice the bytes of an element, by all-gathers, whose other uses are
// small.
double SentPart(const TrainSetup& setup, const TrainResult& result,
                const Communicator& communicator) {
  const int64_t bytes = std::accumulate(setup.bucket_bytes.begin(),
                                        setup.bucket_bytes.end(), int64_t{0});
  return static_cast<double>(communicator.statistics().gathered_bytes) /
         (2 * static_cast<double>(bytes *
                                  std::max<int64_t>(1, result.num_steps())));
}

// From that part on, plain moves fewer bytes: each rank gets the pairs of all
// others, but of a ring's sums only twice a rank's share.
double MostSentPart(const Communicator& communicator) {
  return 1.0 / communicator.size();
}

// What exchanges the gradients: "gloo", "nccl".
std::string BackendName(const Communicator& communicator) {
  return communicator.streams() != nullptr ? "nccl"
                                           : communicator.info().backend;
}

// "3 all-reduces an update"
std::string Exchanged(const TrainFlags& flags, const TrainSetup& setup,
                      const TrainResult& result,
                      const Communicator& communicator) {
  const size_t count = setup.bucket_bytes.size();
  if (flags.workers.exchange.reduce == "partial") {
    return fmt::format("{} averaged in turn", Counted(count, "part"));
  }
  const std::string text = Counted(count, "all-reduce") + " an update";
  if (flags.workers.exchange.reduce != "sparse") return text;
  return fmt::format("{}, of {:.1f} % of the elements", text,
                     100 * SentPart(setup, result, communicator));
}

}  // namespace

absl::StatusOr<Json> GatherRanks(const TrainSetup& setup,
                                 const TrainResult& result,
                                 Communicator& communicator) {
  const MemoryUse memory = setup.session->memory();
  const MicroBatchPlan& plan = *setup.loop->plan;
  Json own = {{"rank", plan.rank_of(communicator.rank())},
              {"host", HostName()},
              {"peak_device_bytes", PeakJson(memory.predicted_device_bytes,
                                             memory.measured_device_bytes)},
              {"checksum", result.checksum}};
  if (plan.devices() > 1) own["device"] = plan.device_of(communicator.rank());
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                            communicator.AllGatherText(own.dump()));
  Json ranks = Json::array();
  for (const std::string& text : texts) {
    SPILLWAY_ASSIGN_OR_RETURN(Json rank, ParseJson(text, "a rank's result"));
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

void AddWorkersJson(const TrainSetup& setup, const TrainResult& result,
                    const Communicator* communicator, const Json& ranks,
                    Json& json) {
  const MicroBatchPlan& plan = *setup.loop->plan;
  json["world_size"] = plan.spec().world_size;
  json["rank"] = plan.rank_of(RankOf(communicator));
  json["num_devices"] = plan.devices();
  if (communicator == nullptr) return;
  const CommunicationUse use = MeasureCommunication(result.last_step);
  json["ranks"] = ranks;
  json["comm"] = {{"backend", BackendName(*communicator)},
                  {"collectives", communicator->statistics().calls},
                  {"bytes", communicator->statistics().bytes},
                  {"exposed_ms", Milliseconds(use.exposed_ns())},
                  {"hidden_ms", Milliseconds(use.hidden_ns)},
                  {"buckets", setup.bucket_bytes}};
}

std::string FormatWorkers(const TrainFlags& flags, const TrainSetup& setup,
                          const TrainResult& result,
                          const Communicator& communicator, const Json& ranks) {
  const int devices = setup.loop->plan->devices();
  const CommunicationUse use = MeasureCommunication(result.last_step);
  std::string text = fmt::format(
      "{:<13}{} by {}: {}, {:.1f} ms exposed and {:.1f} ms hidden in the "
      "last\n",
      devices > 1 ? "devices" : "ranks", communicator.size(),
      BackendName(communicator), Exchanged(flags, setup, result, communicator),
      Milliseconds(use.exposed_ns()), Milliseconds(use.hidden_ns));
  if (flags.workers.exchange.reduce == "sparse" &&
      SentPart(setup, result, communicator) >= MostSentPart(communicator)) {
    text += fmt::format(
        "sparse       more bytes than --reduce plain: {} that send {:.1f} % of "
        "the elements or more had better send all\n",
        Counted(communicator.size(), "rank"), 100 * MostSentPart(communicator));
  }
  for (const Json& rank : ranks) {
    const Json& peak = rank["peak_device_bytes"];
    const int number = rank["rank"].get<int>();
    text += fmt::format(
        "{:<13}{} bytes predicted, {} measured, checksum {}\n",
        devices > 1
            ? fmt::format("device {}.{}", number, rank["device"].get<int>())
            : fmt::format("rank {}", number),
        peak["predicted"].get<int64_t>(), peak["measured"].get<int64_t>(),
        rank["checksum"].get<std::string>());
  }
  return text;
}

void WarnOfManyElements(const WorkerFlags& flags,
                        const Communicator& communicator) {
  const ExchangeFlags& exchange = flags.exchange;
  if (exchange.reduce != "sparse" || !exchange.topk ||
      exchange.spars < MostSentPart(communicator)) {
    return;
  }
  spdlog::warn(
      "--spars: {} that each send {} of the elements move more bytes than with "
      "--reduce plain; sparse is for less than {:.3g}",
      Counted(communicator.size(), "rank"), exchange.spars,
      MostSentPart(communicator));
}

}  // namespace spillway
