#include "ops/gpu/library/nccl.h"

#include "base/status_macros.h"

#ifdef SPILLWAY_WITH_NCCL
#include <nccl.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "ops/gpu/library/shared_library.h"
#endif

namespace spillway {

#ifdef SPILLWAY_WITH_NCCL
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(NcclApi::UniqueId));
static_assert(ncclRemoteError == NcclApi::kRemoteError);
static_assert(ncclInProgress == NcclApi::kInProgress);

ncclDataType_t NcclType(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return ncclFloat32;
    case DType::kBFloat16:
      return ncclBfloat16;
    case DType::kFloat16:
      return ncclFloat16;
    case DType::kInt32:
      return ncclInt32;
    case DType::kInt64:
      return ncclInt64;
    case DType::kUInt8:
    case DType::kBool:
      break;
  }
  return ncclUint8;
}

ncclRedOp_t NcclOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMax:
      return ncclMax;
    case ReduceOp::kMin:
      return ncclMin;
    case ReduceOp::kSum:
      break;
  }
  return ncclSum;
}

ncclComm_t CommOf(NcclApi::Comm comm) { return static_cast<ncclComm_t>(comm); }

class Nccl final : public NcclApi {
 public:
  absl::Status Load() {
    // Read when NCCL starts.
    setenv("NCCL_RUNTIME_CONNECT", "0", /*overwrite=*/0);
    SharedLibrary library(VersionedNames("libnccl", NCCL_MAJOR, {}));
    library.Find("ncclGetErrorString", get_error_string_);
    library.Find("ncclGetLastError", get_last_error_);
    library.Find("ncclGetVersion", get_version_);
    library.Find("ncclGetUniqueId", get_unique_id_);
    library.Find("ncclCommInitRankConfig", comm_init_rank_config_);
    library.Find("ncclCommGetAsyncError", comm_get_async_error_);
    library.Find("ncclCommFinalize", comm_finalize_);
    library.Find("ncclCommDestroy", comm_destroy_);
    library.Find("ncclCommAbort", comm_abort_);
    library.Find("ncclAllReduce", all_reduce_);
    return library.status();
  }

  std::string ErrorText(Result result, Comm comm) const override {
    std::string text = get_error_string_(static_cast<ncclResult_t>(result));
    const char* last = get_last_error_(CommOf(comm));
    if (last != nullptr && *last != '\0') text += std::string("; ") + last;
    return text;
  }
  Result GetVersion(int* version) override { return get_version_(version); }
  Result GetUniqueId(UniqueId* id) override {
    ncclUniqueId own = {};
    const Result result = get_unique_id_(&own);
    std::memcpy(id->data(), own.internal, id->size());
    return result;
  }
  Result CommInitRank(Comm* comm, int size, const UniqueId& id,
                      int rank) override {
    ncclUniqueId own = {};
    std::memcpy(own.internal, id.data(), id.size());
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t opened = nullptr;
    const Result result =
        comm_init_rank_config_(&opened, size, own, rank, &config);
    *comm = opened;
    return result;
  }
  Result CommGetAsyncError(Comm comm, Result* result) override {
    ncclResult_t of_queued = ncclSuccess;
    const Result asked = comm_get_async_error_(CommOf(comm), &of_queued);
    *result = of_queued;
    return asked;
  }
  Result CommFinalize(Comm comm) override {
    return comm_finalize_(CommOf(comm));
  }
  Result CommDestroy(Comm comm) override { return comm_destroy_(CommOf(comm)); }
  Result CommAbort(Comm comm) override { return comm_abort_(CommOf(comm)); }
  Result AllReduce(void* data, size_t count, DType dtype, ReduceOp op,
                   Comm comm, Stream stream) override {
    return all_reduce_(data, data, count, NcclType(dtype), NcclOp(op),
                       CommOf(comm), static_cast<cudaStream_t>(stream));
  }

 private:
  decltype(&ncclGetErrorString) get_error_string_ = nullptr;
  decltype(&ncclGetLastError) get_last_error_ = nullptr;
  decltype(&ncclGetVersion) get_version_ = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id_ = nullptr;
  decltype(&ncclCommInitRankConfig) comm_init_rank_config_ = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error_ = nullptr;
  decltype(&ncclCommFinalize) comm_finalize_ = nullptr;
  decltype(&ncclCommDestroy) comm_destroy_ = nullptr;
  decltype(&ncclCommAbort) comm_abort_ = nullptr;
  decltype(&ncclAllReduce) all_reduce_ = nullptr;
};

}  // namespace

absl::StatusOr<NcclApi*> NcclLibrary() {
  // Never destroyed: communicators may outlive main.
  static auto* const nccl = new Nccl();
  static const absl::Status status = nccl->Load();
  SPILLWAY_RETURN_IF_ERROR(status);
  return nccl;
}
#else
absl::StatusOr<NcclApi*> NcclLibrary() {
  return Unavailable(
      "this program was built without NCCL: its header, nccl.h, was not there");
}
#endif

}  // namespace spillway
