// The functions of cuBLASLt 12 and 13 that the GPU's matrix products call. The
// library is opened at the first call of one of them.
//
// Source: NVIDIA, "cuBLAS Library User Guide", "Using the cuBLASLt API".
#ifndef SPILLWAY_OPS_GPU_LIBRARY_CUBLAS_LT_H_
#define SPILLWAY_OPS_GPU_LIBRARY_CUBLAS_LT_H_

#include <cublasLt.h>

#include <memory>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace spillway {

struct CublasLtApi {
  decltype(&::cublasLtGetVersion) get_version = nullptr;
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtDestroy) destroy = nullptr;
  decltype(&::cublasLtGetStatusName) get_status_name = nullptr;
  decltype(&::cublasLtGetStatusString) get_status_string = nullptr;

  decltype(&::cublasLtMatmulDescCreate) matmul_desc_create = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) matmul_desc_destroy = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) matmul_desc_set_attribute =
      nullptr;

  decltype(&::cublasLtMatrixLayoutCreate) matrix_layout_create = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) matrix_layout_destroy = nullptr;
  decltype(&::cublasLtMatrixLayoutSetAttribute) matrix_layout_set_attribute =
      nullptr;

  decltype(&::cublasLtMatmulPreferenceCreate) matmul_preference_create =
      nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) matmul_preference_destroy =
      nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute)
      matmul_preference_set_attribute = nullptr;

  decltype(&::cublasLtMatmulAlgoGetHeuristic) matmul_algo_get_heuristic =
      nullptr;
  decltype(&::cublasLtMatmul) matmul = nullptr;
};

// Opens the library at the first call: first the version of the headers, else
// the other one. The table is borrowed for the lifetime of the process.
// Thread-safe. Errors: UNAVAILABLE, the same at every call.
absl::StatusOr<const CublasLtApi*> CublasLt();

// The handle of the current device, created at the first call. Thread-safe;
// cuBLASLt allows several threads to use it at the same time.
absl::StatusOr<cublasLtHandle_t> CublasLtHandle();

// Makes CublasLt() return `api`, borrowed; null: the library again. Destroys
// the handles of the previous table: no kernel may be running.
void SetCublasLtForTest(const CublasLtApi* api);

// INTERNAL "<call>: CUBLAS_STATUS_... (<text>)"; OK for success.
absl::Status CublasLtStatus(const CublasLtApi& api, cublasStatus_t status,
                            std::string_view call);

// Descriptors that are destroyed with their owner.
template <typename T>
using CublasLtOwned = std::unique_ptr<T, cublasStatus_t (*)(T*)>;
using CublasLtMatmulDesc =
    CublasLtOwned<std::remove_pointer_t<cublasLtMatmulDesc_t>>;
using CublasLtMatrixLayout =
    CublasLtOwned<std::remove_pointer_t<cublasLtMatrixLayout_t>>;
using CublasLtMatmulPreference =
    CublasLtOwned<std::remove_pointer_t<cublasLtMatmulPreference_t>>;

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_LIBRARY_CUBLAS_LT_H_
