#include "tools/spillway/command/train_workers.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "benchmarks/lane_use.h"
#include "fmt/format.h"
#include "tools/spillway/output/result_json.h"

namespace spillway {
namespace {

std::string HostName() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

double ExposedMs(const CommunicationUse& use) {
  return Milliseconds(use.busy_ns - use.hidden_ns);
}

}  // namespace

int RankOf(const Communicator* communicator) {
  return communicator == nullptr ? 0 : communicator->rank();
}

int WorldSizeOf(const Communicator* communicator) {
  return communicator == nullptr ? 1 : communicator->size();
}

int ThreadsOfRank(const Communicator& communicator) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, cores / communicator.info().local_size);
}

absl::StatusOr<Json> GatherRanks(const TrainSetup& setup,
                                 const TrainResult& result,
                                 Communicator& communicator) {
  const MemoryUse memory = setup.session->memory();
  const Json own = {
      {"rank", communicator.rank()},
      {"host", HostName()},
      {"peak_device_bytes",
       PeakJson(memory.predicted_device_bytes, memory.measured_device_bytes)},
      {"checksum", result.checksum}};
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
  json["world_size"] = WorldSizeOf(communicator);
  json["rank"] = RankOf(communicator);
  if (communicator == nullptr) return;
  const CommunicationUse use = MeasureCommunication(result.last_step);
  json["ranks"] = ranks;
  json["comm"] = {{"backend", communicator->info().backend},
                  {"collectives", communicator->statistics().calls},
                  {"bytes", communicator->statistics().bytes},
                  {"exposed_ms", ExposedMs(use)},
                  {"hidden_ms", Milliseconds(use.hidden_ns)},
                  {"buckets", setup.bucket_bytes}};
}

std::string FormatWorkers(const TrainSetup& setup, const TrainResult& result,
                          const Communicator& communicator, const Json& ranks) {
  const CommunicationUse use = MeasureCommunication(result.last_step);
  std::string text = fmt::format(
      "ranks        {} by {}: {} an update, {:.1f} ms exposed and {:.1f} ms "
      "hidden in the last\n",
      communicator.size(), communicator.info().backend,
      Counted(setup.bucket_bytes.size(), "all-reduce"), ExposedMs(use),
      Milliseconds(use.hidden_ns));
  for (const Json& rank : ranks) {
    const Json& peak = rank["peak_device_bytes"];
    text += fmt::format(
        "rank {:<8}{} bytes predicted, {} measured, checksum {}\n",
        rank["rank"].get<int>(), peak["predicted"].get<int64_t>(),
        peak["measured"].get<int64_t>(), rank["checksum"].get<std::string>());
  }
  return text;
}

}  // namespace spillway
