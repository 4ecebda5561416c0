#include "comm/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/status_macros.h"

namespace spillway {
namespace {

// The names of a launcher's variables.
struct LauncherVariables {
  const char* launcher = "";
  const char* rank = "";
  const char* size = "";
  const char* local_rank = "";
  const char* local_size = "";
};

constexpr LauncherVariables kLaunchers[] = {
    {.launcher = "spillway launch",
     .rank = "SPILLWAY_RANK",
     .size = "SPILLWAY_WORLD_SIZE",
     .local_rank = "SPILLWAY_LOCAL_RANK",
     .local_size = "SPILLWAY_LOCAL_WORLD_SIZE"},
    {.launcher = "torchrun",
     .rank = "RANK",
     .size = "WORLD_SIZE",
     .local_rank = "LOCAL_RANK",
     .local_size = "LOCAL_WORLD_SIZE"},
    {.launcher = "Open MPI",
     .rank = "OMPI_COMM_WORLD_RANK",
     .size = "OMPI_COMM_WORLD_SIZE",
     .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
     .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {.launcher = "PMI",
     .rank = "PMI_RANK",
     .size = "PMI_SIZE",
     .local_rank = "MPI_LOCALRANKID",
     .local_size = "MPI_LOCALNRANKS"},
    {.launcher = "Slurm",
     .rank = "SLURM_PROCID",
     .size = "SLURM_STEP_NUM_TASKS",
     .local_rank = "SLURM_LOCALID",
     .local_size = "SLURM_STEP_TASKS_PER_NODE"},
};

bool IsSlurm(const LauncherVariables& names) {
  return std::string_view(names.launcher) == "Slurm";
}

// All of `text` as a number; nullopt: it is none.
std::optional<int> ParseNumber(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// The number of variable `name`; `missing` if it is not set.
absl::StatusOr<int> ReadNumber(const ReadVariable& read, const char* name,
                               int least, int missing) {
  const std::optional<std::string> text = read(name);
  if (!text.has_value()) return missing;
  const std::optional<int> number = ParseNumber(*text);
  if (!number.has_value() || *number < least) {
    return InvalidArgument(fmt::format(
        "{} is '{}'; it must be a number of at least {}", name, *text, least));
  }
  return *number;
}

// The tasks of a node in Slurm's list for all nodes: "4(x2),3" is 4, 4, 3.
std::optional<int> TasksOfNode(std::string_view list, int node) {
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    const size_t open = part.find("(x");
    int nodes = 1;
    if (open != std::string_view::npos) {
      if (!part.ends_with(')')) return std::nullopt;
      const auto repeated =
          ParseNumber(part.substr(open + 2, part.size() - open - 3));
      if (!repeated.has_value() || *repeated < 1) return std::nullopt;
      nodes = *repeated;
    }
    if (node < nodes) return ParseNumber(part.substr(0, open));
    node -= nodes;
  }
  return std::nullopt;
}

absl::StatusOr<int> ReadSlurmLocalSize(const ReadVariable& read,
                                       const char* name, int missing) {
  const std::optional<std::string> list = read(name);
  if (!list.has_value()) return missing;
  SPILLWAY_ASSIGN_OR_RETURN(
      const int node,
      ReadNumber(read, "SLURM_NODEID", /*least=*/0, /*missing=*/0));
  const std::optional<int> tasks = TasksOfNode(*list, node);
  if (!tasks.has_value() || *tasks < 1) {
    return InvalidArgument(
        fmt::format("{} is '{}'; it must list the tasks of each node, as "
                    "4(x2),3, and so for node {} (SLURM_NODEID)",
                    name, *list, node));
  }
  return *tasks;
}

absl::Status CheckBelow(const char* rank_name, int rank, const char* size_name,
                        int size) {
  if (rank < size) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("{} is {}, but {} is {}: ranks count from 0", rank_name, rank,
                  size_name, size));
}

// What a launcher says; of none ("") if it has not started this process.
absl::StatusOr<RankIdentity> ReadLauncher(const ReadVariable& read,
                                          const LauncherVariables& names) {
  RankIdentity identity;
  if (!read(names.rank).has_value()) return identity;
  if (!read(names.size).has_value()) {
    if (IsSlurm(names)) return identity;
    return InvalidArgument(
        fmt::format("{} is set, but {} is not", names.rank, names.size));
  }
  SPILLWAY_ASSIGN_OR_RETURN(identity.rank, ReadNumber(read, names.rank, 0, 0));
  SPILLWAY_ASSIGN_OR_RETURN(identity.size, ReadNumber(read, names.size, 1, 1));
  SPILLWAY_RETURN_IF_ERROR(
      CheckBelow(names.rank, identity.rank, names.size, identity.size));
  SPILLWAY_ASSIGN_OR_RETURN(
      identity.local_rank,
      ReadNumber(read, names.local_rank, 0, identity.rank));
  SPILLWAY_ASSIGN_OR_RETURN(
      identity.local_size,
      IsSlurm(names) ? ReadSlurmLocalSize(read, names.local_size, identity.size)
                     : ReadNumber(read, names.local_size, 1, identity.size));
  SPILLWAY_RETURN_IF_ERROR(CheckBelow(names.local_rank, identity.local_rank,
                                      names.local_size, identity.local_size));
  if (identity.local_size > identity.size) {
    return InvalidArgument(fmt::format("{} is {}, but {} is {}",
                                       names.local_size, identity.local_size,
                                       names.size, identity.size));
  }
  identity.launcher = names.launcher;
  return identity;
}

// host:port, and no path.
bool IsAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  return colon != std::string_view::npos && colon > 0 &&
         text.find('/') == std::string_view::npos &&
         ParseNumber(text.substr(colon + 1)).has_value();
}

// Whether torchrun itself listens at MASTER_PORT (PyTorch 1.11 and later).
bool HasAgentStore(const ReadVariable& read) {
  return read("TORCHELASTIC_USE_AGENT_STORE") == "True";
}

// A folder that torchrun has made for this start of the ranks of one host, who
// each have a folder in it; "": none.
std::string FolderOfTorchrun(const ReadVariable& read) {
  const std::filesystem::path error_file =
      read("TORCHELASTIC_ERROR_FILE").value_or("");
  return error_file.parent_path().parent_path();
}

absl::Status ReadMasterAddress(const ReadVariable& read,
                               RankIdentity& identity) {
  const std::optional<std::string> host = read("MASTER_ADDR");
  if (!host.has_value()) return absl::OkStatus();
  if (!read("MASTER_PORT").has_value()) {
    return InvalidArgument("MASTER_ADDR is set, but MASTER_PORT is not");
  }
  SPILLWAY_ASSIGN_OR_RETURN(int port, ReadNumber(read, "MASTER_PORT", 1, 0));
  if (HasAgentStore(read)) ++port;
  const bool is_ipv6 = host->find(':') != std::string::npos;
  identity.rendezvous_address = is_ipv6 ? fmt::format("[{}]:{}", *host, port)
                                        : fmt::format("{}:{}", *host, port);
  return absl::OkStatus();
}

absl::Status ReadRendezvous(const ReadVariable& read, RankIdentity& identity) {
  const bool is_torchrun = identity.launcher == "torchrun";
  identity.run_id =
      read("SPILLWAY_RUN_ID")
          .value_or(is_torchrun ? read("TORCHELASTIC_RUN_ID").value_or("")
                                : "");
  const std::string place = read("SPILLWAY_RENDEZVOUS").value_or("");
  if (!place.empty()) {
    (IsAddress(place) ? identity.rendezvous_address
                      : identity.rendezvous_folder) = place;
    return absl::OkStatus();
  }
  if (!is_torchrun) return absl::OkStatus();
  if (HasAgentStore(read) && identity.local_size == identity.size) {
    identity.rendezvous_folder = FolderOfTorchrun(read);
  }
  return identity.rendezvous_folder.empty() ? ReadMasterAddress(read, identity)
                                            : absl::OkStatus();
}

absl::Status CheckAgreement(const LauncherVariables& first, int size,
                            const LauncherVariables& other, int other_size) {
  if (other_size == size || other_size == 1) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("{} is {} ({}), but {} is {} ({}): unset the variables of "
                  "one of them",
                  first.size, size, first.launcher, other.size, other_size,
                  other.launcher));
}

}  // namespace

absl::StatusOr<RankIdentity> FindRank(const ReadVariable& read) {
  RankIdentity found;
  const LauncherVariables* first = nullptr;
  for (const LauncherVariables& names : kLaunchers) {
    if (first != nullptr && IsSlurm(names)) break;
    SPILLWAY_ASSIGN_OR_RETURN(RankIdentity identity, ReadLauncher(read, names));
    if (identity.launcher.empty()) continue;
    if (first != nullptr) {
      SPILLWAY_RETURN_IF_ERROR(
          CheckAgreement(*first, found.size, names, identity.size));
      continue;
    }
    first = &names;
    found = std::move(identity);
  }
  SPILLWAY_RETURN_IF_ERROR(ReadRendezvous(read, found));
  return found;
}

absl::StatusOr<RankIdentity> FindRank() {
  return FindRank([](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

}  // namespace spillway
