#include "ops/gpu/library/cublas_lt.h"

#include <fmt/format.h>

#include <array>
#include <mutex>

#include "base/status_macros.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/library/shared_library.h"

namespace spillway {
namespace {

// The functions called below and their attributes are the same in both
// versions.
constexpr std::array<int, 2> kCompatibleMajors = {13, 12};

absl::StatusOr<CublasLtApi> LoadCublasLt() {
  SharedLibrary library(
      VersionedNames("libcublasLt", CUBLAS_VER_MAJOR, kCompatibleMajors));
  CublasLtApi api;
  library.Find("cublasLtGetVersion", api.get_version);
  library.Find("cublasLtCreate", api.create);
  library.Find("cublasLtDestroy", api.destroy);
  library.Find("cublasLtGetStatusName", api.get_status_name);
  library.Find("cublasLtGetStatusString", api.get_status_string);
  library.Find("cublasLtMatmulDescCreate", api.matmul_desc_create);
  library.Find("cublasLtMatmulDescDestroy", api.matmul_desc_destroy);
  library.Find("cublasLtMatmulDescSetAttribute", api.matmul_desc_set_attribute);
  library.Find("cublasLtMatrixLayoutCreate", api.matrix_layout_create);
  library.Find("cublasLtMatrixLayoutDestroy", api.matrix_layout_destroy);
  library.Find("cublasLtMatrixLayoutSetAttribute",
               api.matrix_layout_set_attribute);
  library.Find("cublasLtMatmulPreferenceCreate", api.matmul_preference_create);
  library.Find("cublasLtMatmulPreferenceDestroy",
               api.matmul_preference_destroy);
  library.Find("cublasLtMatmulPreferenceSetAttribute",
               api.matmul_preference_set_attribute);
  library.Find("cublasLtMatmulAlgoGetHeuristic", api.matmul_algo_get_heuristic);
  library.Find("cublasLtMatmul", api.matmul);
  SPILLWAY_RETURN_IF_ERROR(library.status());
  return api;
}

SharedApi<CublasLtApi, cublasLtHandle_t>& SharedCublasLt() {
  static SharedApi<CublasLtApi, cublasLtHandle_t> shared = {.load =
                                                                LoadCublasLt};
  return shared;
}

}  // namespace

absl::StatusOr<const CublasLtApi*> CublasLt() {
  auto& shared = SharedCublasLt();
  const std::lock_guard lock(shared.mutex);
  return shared.Get();
}

absl::StatusOr<cublasLtHandle_t> CublasLtHandle() {
  auto& shared = SharedCublasLt();
  const std::lock_guard lock(shared.mutex);
  SPILLWAY_ASSIGN_OR_RETURN(const int device, CurrentGpu());
  cublasLtHandle_t& handle = shared.handles[device];
  if (handle == nullptr) {
    SPILLWAY_ASSIGN_OR_RETURN(const CublasLtApi* api, shared.Get());
    SPILLWAY_RETURN_IF_ERROR(
        CublasLtStatus(*api, api->create(&handle), "cublasLtCreate"));
  }
  return handle;
}

void SetCublasLtForTest(const CublasLtApi* api) {
  SharedCublasLt().SetForTest(api);
}

absl::Status CublasLtStatus(const CublasLtApi& api, cublasStatus_t status,
                            std::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  return Internal(fmt::format("{}: {} ({})", call, api.get_status_name(status),
                              api.get_status_string(status)));
}

}  // namespace spillway
