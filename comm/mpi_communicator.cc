#include "comm/mpi_communicator.h"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "comm/exit_status.h"
#include "comm/reduce.h"
#include "comm/rendezvous/handshake.h"

namespace spillway {
namespace {

using MpiClock = std::chrono::steady_clock;

// A small call ends while it is polled without a pause.
constexpr auto kSpinTime = std::chrono::microseconds(100);
constexpr auto kSleepTime = std::chrono::microseconds(50);

// A call of this process has failed: MPI is not called again.
std::atomic<bool>& HasMpiFailed() {
  static std::atomic<bool> failed = false;
  return failed;
}

absl::Status ToStatus(int error, const char* call) {
  if (error == MPI_SUCCESS) return absl::OkStatus();
  HasMpiFailed() = true;
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  MPI_Error_string(error, text.data(), &length);
  return Unavailable(fmt::format(
      "{}: {}", call, std::string(text.data(), static_cast<size_t>(length))));
}

void FinalizeMpi() {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  if (is_finalized == 0 && !HasMpiFailed()) MPI_Finalize();
}

// MPI is initialised and finalized once a process.
absl::Status InitialiseMpi() {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  if (is_finalized != 0) {
    return FailedPrecondition("mpi: this process has finalized MPI");
  }
  int provided = MPI_THREAD_SINGLE;
  int is_initialised = 0;
  MPI_Initialized(&is_initialised);
  if (is_initialised != 0) {
    MPI_Query_thread(&provided);
  } else {
    SPILLWAY_RETURN_IF_ERROR(ToStatus(
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided),
        "MPI_Init_thread"));
    std::atexit(FinalizeMpi);
  }
  if (provided >= MPI_THREAD_SERIALIZED) return absl::OkStatus();
  return FailedPrecondition(
      "mpi: MPI allows calls from one thread only; at least "
      "MPI_THREAD_SERIALIZED is needed");
}

// Polls `request` until it is complete; after an error, it is never touched
// again.
absl::Status WaitForMpi(MPI_Request& request, std::chrono::milliseconds timeout,
                        const char* call) {
  const auto start = MpiClock::now();
  while (true) {
    int is_complete = 0;
    SPILLWAY_RETURN_IF_ERROR(
        ToStatus(MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE), call));
    if (is_complete != 0) return absl::OkStatus();
    const auto waited = MpiClock::now() - start;
    if (waited >= timeout) {
      HasMpiFailed() = true;
      return absl::DeadlineExceededError(fmt::format(
          "{}: not all ranks have come within {} ms", call, timeout.count()));
    }
    if (waited > kSpinTime) std::this_thread::sleep_for(kSleepTime);
  }
}

// MPI has no 16-bit floating types, and its maximum of a NaN is any number. So
// it moves elements as bytes, and the functions of reduce.h combine them.
template <ReduceOp op, DType dtype>
void ReduceForMpi(void* from, void* to, int* count, MPI_Datatype* /*type*/) {
  ReduceInto(to, from, *count, dtype, op);
}

struct MpiReduction {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
};

template <ReduceOp op>
MPI_User_function* ReductionFunction(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return ReduceForMpi<op, DType::kFloat32>;
    case DType::kBFloat16:
      return ReduceForMpi<op, DType::kBFloat16>;
    case DType::kFloat16:
      return ReduceForMpi<op, DType::kFloat16>;
    case DType::kInt32:
      return ReduceForMpi<op, DType::kInt32>;
    case DType::kInt64:
      return ReduceForMpi<op, DType::kInt64>;
    case DType::kUInt8:
      return ReduceForMpi<op, DType::kUInt8>;
    case DType::kBool:
      break;
  }
  return nullptr;
}

MPI_User_function* ReductionFunction(DType dtype, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return ReductionFunction<ReduceOp::kSum>(dtype);
    case ReduceOp::kMax:
      return ReductionFunction<ReduceOp::kMax>(dtype);
    case ReduceOp::kMin:
      return ReductionFunction<ReduceOp::kMin>(dtype);
  }
  return nullptr;
}

constexpr size_t kDTypes = static_cast<size_t>(DType::kBool) + 1;
constexpr size_t kReduceOps = 3;
using MpiReductions = std::array<std::array<MpiReduction, kReduceOps>, kDTypes>;

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(CommInfo info, const CommOptions& options, MPI_Comm ranks)
      : Communicator(std::move(info), options), ranks_(ranks) {}

  // `ranks_` and `reductions_` are freed by MPI_Finalize: to free them is a
  // call in which all ranks may have to take part.
  ~MpiCommunicator() override = default;

 protected:
  absl::Status DoAllReduce(void* data, int64_t count, DType dtype,
                           ReduceOp op) override {
    SPILLWAY_ASSIGN_OR_RETURN(const MpiReduction reduction,
                              FindReduction(dtype, op));
    return Call("MPI_Iallreduce", [&](MPI_Request* request) {
      return MPI_Iallreduce(MPI_IN_PLACE, data, static_cast<int>(count),
                            reduction.type, reduction.op, ranks_, request);
    });
  }

  absl::Status DoBroadcast(void* data, int64_t bytes, int root) override {
    return Call("MPI_Ibcast", [&](MPI_Request* request) {
      return MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, root, ranks_,
                        request);
    });
  }

  absl::Status DoAllGather(const void* in, void* out, int64_t bytes) override {
    const int count = static_cast<int>(bytes);
    return Call("MPI_Iallgather", [&](MPI_Request* request) {
      return MPI_Iallgather(in, count, MPI_BYTE, out, count, MPI_BYTE, ranks_,
                            request);
    });
  }

  absl::Status DoBarrier() override {
    return Call("MPI_Ibarrier", [&](MPI_Request* request) {
      return MPI_Ibarrier(ranks_, request);
    });
  }

  void DoAbort(const absl::Status& reason) override {
    HasMpiFailed() = true;
    MPI_Abort(MPI_COMM_WORLD, RankExitStatus(reason).value_or(1));
  }

 private:
  template <typename Start>
  absl::Status Call(const char* name, const Start& start) {
    MPI_Request request = MPI_REQUEST_NULL;
    SPILLWAY_RETURN_IF_ERROR(ToStatus(start(&request), name));
    return WaitForMpi(request, options().timeout, name);
  }

  absl::StatusOr<MpiReduction> FindReduction(DType dtype, ReduceOp op) {
    MpiReduction& found =
        reductions_[static_cast<size_t>(dtype)][static_cast<size_t>(op)];
    if (found.op != MPI_OP_NULL) return found;
    SPILLWAY_RETURN_IF_ERROR(
        ToStatus(MPI_Type_contiguous(static_cast<int>(SizeOf(dtype)), MPI_BYTE,
                                     &found.type),
                 "MPI_Type_contiguous"));
    SPILLWAY_RETURN_IF_ERROR(
        ToStatus(MPI_Type_commit(&found.type), "MPI_Type_commit"));
    SPILLWAY_RETURN_IF_ERROR(ToStatus(
        MPI_Op_create(ReductionFunction(dtype, op), /*commute=*/1, &found.op),
        "MPI_Op_create"));
    return found;
  }

  const MPI_Comm ranks_;
  MpiReductions reductions_ = {};
};

std::string MpiVersion() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text = {};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  // "Open MPI v4.1.4, package: ..."
  const std::string version(text.data(), static_cast<size_t>(length));
  return version.substr(0, version.find_first_of(",\n"));
}

absl::Status CheckIdentity(const RankIdentity& identity) {
  int rank = 0;
  int size = 0;
  SPILLWAY_RETURN_IF_ERROR(
      ToStatus(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank"));
  SPILLWAY_RETURN_IF_ERROR(
      ToStatus(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size"));
  if (rank == identity.rank && size == identity.size) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "mpi: this process is rank {} of {} for {}, but rank {} of {} for {}; "
      "start it with the mpirun of that library",
      identity.rank, identity.size,
      identity.launcher.empty() ? "itself" : identity.launcher, rank, size,
      MpiVersion()));
}

// A communicator of all ranks that returns errors. All ranks are there then.
absl::StatusOr<MPI_Comm> DuplicateWorld(std::chrono::milliseconds timeout) {
  MPI_Comm ranks = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  SPILLWAY_RETURN_IF_ERROR(
      ToStatus(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
               "MPI_Comm_set_errhandler"));
  SPILLWAY_RETURN_IF_ERROR(
      ToStatus(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier"));
  SPILLWAY_RETURN_IF_ERROR(WaitForMpi(request, timeout, "MPI_Ibarrier"));
  SPILLWAY_RETURN_IF_ERROR(
      ToStatus(MPI_Comm_dup(MPI_COMM_WORLD, &ranks), "MPI_Comm_dup"));
  return ranks;
}

absl::Status FindLocalRanks(MPI_Comm ranks, CommInfo& info) {
  MPI_Comm local = MPI_COMM_NULL;
  SPILLWAY_RETURN_IF_ERROR(
      ToStatus(MPI_Comm_split_type(ranks, MPI_COMM_TYPE_SHARED, info.rank,
                                   MPI_INFO_NULL, &local),
               "MPI_Comm_split_type"));
  SPILLWAY_RETURN_IF_ERROR(
      ToStatus(MPI_Comm_rank(local, &info.local_rank), "MPI_Comm_rank"));
  return ToStatus(MPI_Comm_size(local, &info.local_size), "MPI_Comm_size");
}

absl::Status CompareAllGreetings(const RankIdentity& identity,
                                 Communicator& communicator) {
  const std::string mine = EncodeGreeting(identity);
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<std::string> greetings,
                            communicator.AllGatherText(mine));
  for (int rank = 0; rank < communicator.size(); ++rank) {
    SPILLWAY_RETURN_IF_ERROR(
        CompareGreetings(mine, greetings[static_cast<size_t>(rank)], rank));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> OpenMpiCommunicator(
    const CommSpec& spec) {
  SPILLWAY_RETURN_IF_ERROR(InitialiseMpi());
  SPILLWAY_RETURN_IF_ERROR(CheckIdentity(spec.identity));
  SPILLWAY_ASSIGN_OR_RETURN(const MPI_Comm ranks,
                            DuplicateWorld(spec.options.timeout));
  CommInfo info = {.rank = spec.identity.rank,
                   .size = spec.identity.size,
                   .backend = "mpi",
                   .version = MpiVersion()};
  SPILLWAY_RETURN_IF_ERROR(FindLocalRanks(ranks, info));
  auto communicator =
      std::make_unique<MpiCommunicator>(info, spec.options, ranks);
  SPILLWAY_RETURN_IF_ERROR(CompareAllGreetings(spec.identity, *communicator));
  return communicator;
}

}  // namespace spillway
