// A rank of mpirun, for tests/comm/CMakeLists.txt:
//   check     all collectives, and what the communicator says of itself
//   late      rank 1 comes late, and the others abort
//   mismatch  the ranks' calls differ, which ends them with status 5
//   refused   a backend or an identity that does not fit
// Prints the first error; ends with 0, or as Communicator::Abort does.
#include <cstdio>
#include <string>
#include <thread>

#include "base/status_macros.h"
#include "comm/open_communicator.h"
#include "tests/comm/conformance.h"

namespace spillway {
namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

absl::Status CheckInfo(const Communicator& communicator,
                       const RankIdentity& identity) {
  const CommInfo& info = communicator.info();
  // mpirun starts all of them here.
  const bool is_right =
      info.backend == "mpi" && info.rank == identity.rank &&
      info.size == identity.size && info.local_rank == identity.rank &&
      info.local_size == identity.size && info.version.starts_with("Open MPI");
  return is_right ? absl::OkStatus() : Internal("info: " + info.version);
}

absl::Status CheckAll(const CommSpec& spec) {
  for (const bool check_calls : {false, true}) {
    CommSpec checked = spec;
    checked.options.check_calls = check_calls;
    SPILLWAY_ASSIGN_OR_RETURN(const auto communicator,
                              OpenCommunicator(checked));
    SPILLWAY_RETURN_IF_ERROR(CheckInfo(*communicator, spec.identity));
    SPILLWAY_RETURN_IF_ERROR(testing::CheckCollectives(*communicator));
    SPILLWAY_RETURN_IF_ERROR(
        testing::CheckSameBits(*communicator, /*is_ordered=*/false));
  }
  CommSpec ordered = spec;
  ordered.options.deterministic_reduce = true;
  SPILLWAY_ASSIGN_OR_RETURN(const auto communicator, OpenCommunicator(ordered));
  return testing::CheckSameBits(*communicator, /*is_ordered=*/true);
}

// Ends all ranks with status 75.
absl::Status ComeLate(CommSpec spec) {
  // The first is long enough for a busy machine to start all ranks.
  SPILLWAY_ASSIGN_OR_RETURN(const auto opened, OpenCommunicator(spec));
  spec.options.timeout = std::chrono::seconds(2);
  SPILLWAY_ASSIGN_OR_RETURN(const auto communicator, OpenCommunicator(spec));
  if (communicator->rank() == 1) {
    std::this_thread::sleep_for(std::chrono::minutes(10));
  }
  float one = 1;
  const absl::Status status = communicator->AllReduce(&one, 1, DType::kFloat32);
  if (!absl::IsDeadlineExceeded(status)) {
    return Internal("not late: " + status.ToString());
  }
  Fail(status);
  communicator->Abort(status);
  return Internal("Abort returned");
}

// Ends all ranks with status 5.
absl::Status CallOthers(CommSpec spec) {
  spec.options.check_calls = true;
  SPILLWAY_ASSIGN_OR_RETURN(const auto communicator, OpenCommunicator(spec));
  float data[4] = {};
  const absl::Status status =
      communicator->rank() == 0
          ? communicator->AllReduce(data, 4, DType::kFloat32)
          : communicator->Broadcast(data, 12, 0);
  if (!absl::IsAborted(status))
    return Internal("not seen: " + status.ToString());
  Fail(status);
  communicator->Abort(status);
  return Internal("Abort returned");
}

absl::Status CheckRefusals(const CommSpec& spec) {
  CommSpec wrong = spec;
  wrong.identity.size += 1;
  const absl::Status status = OpenCommunicator(wrong).status();
  if (!absl::IsInvalidArgument(status)) {
    return Internal("another size: " + status.ToString());
  }
  wrong = spec;
  wrong.backend = "self";
  return absl::IsInvalidArgument(OpenCommunicator(wrong).status())
             ? absl::OkStatus()
             : Internal("self among several ranks");
}

absl::Status RunMode(const std::string& mode) {
  CommSpec spec = {.options = {.timeout = std::chrono::minutes(5)}};
  SPILLWAY_ASSIGN_OR_RETURN(spec.identity, FindRank());
  // auto is self for a single rank.
  if (spec.identity.size == 1) spec.backend = "mpi";
  if (mode == "check") return CheckAll(spec);
  if (mode == "late") return ComeLate(spec);
  if (mode == "mismatch") return CallOthers(spec);
  if (mode == "refused") return CheckRefusals(spec);
  return InvalidArgument("unknown mode " + mode);
}

}  // namespace
}  // namespace spillway

int main(int argc, char** argv) {
  const absl::Status status = spillway::RunMode(argc == 2 ? argv[1] : "");
  return status.ok() ? 0 : spillway::Fail(status);
}
