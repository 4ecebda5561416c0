#include "simulator/network/network_json.h"

#include <string>

#include "nlohmann/json.hpp"

namespace spillway {
namespace {

NetworkLink ReadNetworkLink(JsonObject link) {
  const NetworkLink read = {
      .latency_ns =
          link.Integer("latency_ns", {.least = 0, .most = kMostLatencyNs}),
      .bytes_per_second =
          link.Number("bytes_per_second", {.least = 1, .most = 1e18})};
  link.RefuseOtherFields();
  return read;
}

nlohmann::ordered_json LinkToJson(const NetworkLink& link) {
  return {{"latency_ns", link.latency_ns},
          {"bytes_per_second", link.bytes_per_second}};
}

}  // namespace

NetworkModel ReadNetwork(JsonObject network) {
  NetworkModel read;
  read.between_hosts = ReadNetworkLink(network.Object("between_hosts"));
  read.within_host = network.Has("within_host")
                         ? ReadNetworkLink(network.Object("within_host"))
                         : read.between_hosts;
  if (network.Has("ranks_per_host")) {
    read.ranks_per_host =
        network.Integer("ranks_per_host", {.least = 1, .most = kMostRanks});
  }
  if (network.Has("allreduce")) {
    read.all_reduce = FindAllReduce(network.Text("allreduce"));
    if (!read.all_reduce) {
      network.MustBe("allreduce", "ring, tree or hierarchical");
    }
  }
  if (network.Has("contention")) {
    read.contention =
        network.Number("contention", {.least = 0, .most = kMostContention});
  }
  if (network.Has("jitter")) {
    read.jitter = network.Number("jitter", {.least = 0, .most = kMostJitter});
  }
  if (network.Has("staged")) read.is_staged = network.Flag("staged");
  network.RefuseOtherFields();
  return read;
}

nlohmann::ordered_json NetworkToJson(const NetworkModel& network) {
  nlohmann::ordered_json json = {
      {"between_hosts", LinkToJson(network.between_hosts)}};
  if (!(network.within_host == network.between_hosts)) {
    json["within_host"] = LinkToJson(network.within_host);
  }
  if (network.ranks_per_host != 1) {
    json["ranks_per_host"] = network.ranks_per_host;
  }
  if (network.all_reduce) {
    json["allreduce"] = std::string(AllReduceName(*network.all_reduce));
  }
  if (network.contention != 0) json["contention"] = network.contention;
  if (network.jitter != 0) json["jitter"] = network.jitter;
  if (network.is_staged) json["staged"] = true;
  return json;
}

}  // namespace spillway
