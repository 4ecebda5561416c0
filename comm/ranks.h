// Which rank of which run this process is, as its launcher says.
#ifndef SPILLWAY_COMM_RANKS_H_
#define SPILLWAY_COMM_RANKS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace spillway {

// The value of an environment variable; nullopt: not set.
using ReadVariable =
    std::function<std::optional<std::string>(const std::string& name)>;

struct RankIdentity {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  // Who said so: "spillway launch", "torchrun", "Open MPI", "PMI", "Slurm", or
  // "" for a process that is alone.
  std::string launcher = {};
  // Of the run: keeps strangers and earlier runs out. "": none given.
  std::string run_id = {};
  // Where ranks find each other: a folder that all of them see, or
  // "host:port". "": none given. At most one is set.
  std::string rendezvous_folder = {};
  std::string rendezvous_address = {};
};

// From, in this order:
//
//   spillway launch  SPILLWAY_RANK, _WORLD_SIZE, _LOCAL_RANK, _LOCAL_WORLD_SIZE
//   torchrun         RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE
//   Open MPI         OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
//   PMI (MPICH)      PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS
//   Slurm (srun)     SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID,
//                    SLURM_STEP_TASKS_PER_NODE of SLURM_NODEID
//
// The first launcher whose rank and size are both set counts; local ones that
// are missing are those of a single host. Slurm sets its variables for the
// daemons of mpirun and for batch scripts too (then without a size), so it
// counts only if no other launcher does, and contradicts none.
//
// With every launcher, SPILLWAY_RUN_ID and SPILLWAY_RENDEZVOUS (a folder or
// host:port) say where ranks meet; else, for torchrun, TORCHELASTIC_RUN_ID,
// MASTER_ADDR and MASTER_PORT. Where torchrun itself listens at that port
// (TORCHELASTIC_USE_AGENT_STORE), it is the port after it, and on a single host
// the folder of this start, above that of TORCHELASTIC_ERROR_FILE.
//
// Errors: INVALID_ARGUMENT naming the variable for a rank without a size,
// numbers that are none or do not fit each other, and a later launcher that
// states another size above 1 (one of size 1 has started the first launcher).
absl::StatusOr<RankIdentity> FindRank(const ReadVariable& read);

// Of this process's environment.
absl::StatusOr<RankIdentity> FindRank();

}  // namespace spillway

#endif  // SPILLWAY_COMM_RANKS_H_
