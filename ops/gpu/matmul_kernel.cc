// cuBLASLt's matrices are column-major. A row-major matrix is, byte for byte,
// its transpose in column-major order. So y = a b is computed as transpose(y) =
// transpose(b) transpose(a), where b is cuBLASLt's A and a its B. Its epilogues
// add one element of the bias to each row of their result, that is, to each
// column of y, as MatMul requires.
#include "ops/gpu/matmul_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "ops/common/algorithm_named.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/pad_window.h"
#include "ops/gpu/library/cublas_lt.h"

namespace spillway {
namespace {

constexpr uint64_t kMostWorkspaceBytes = uint64_t{32} << 20;
constexpr int kMostAlgorithms = 8;

cudaDataType_t CudaType(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
      return CUDA_R_16BF;
    case DType::kFloat16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

// The dtype in which the operands are multiplied.
DType ProductDType(const GpuMatMulSpec& spec) {
  for (const DType dtype : {spec.a_dtype, spec.b_dtype, spec.y_dtype}) {
    if (dtype != DType::kFloat32) return dtype;
  }
  return DType::kFloat32;
}

// A row-major matrix of the product, as it is stored.
struct Matrix {
  int64_t rows = 1;
  int64_t columns = 1;
  DType dtype = DType::kFloat32;  // in which it is multiplied
  int64_t batch = 1;
  bool is_repeated = false;
};

// The descriptors of one product and the algorithms for it, best first.
struct Product {
  const CublasLtApi* api = nullptr;
  CublasLtMatmulDesc operation = {nullptr, nullptr};
  CublasLtMatrixLayout a = {nullptr, nullptr};
  CublasLtMatrixLayout b = {nullptr, nullptr};
  CublasLtMatrixLayout y = {nullptr, nullptr};
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms = {};
};

template <typename T>
absl::Status SetLayoutAttribute(const CublasLtApi& api,
                                cublasLtMatrixLayout_t layout,
                                cublasLtMatrixLayoutAttribute_t attribute,
                                T value) {
  return CublasLtStatus(
      api,
      api.matrix_layout_set_attribute(layout, attribute, &value, sizeof(value)),
      "cublasLtMatrixLayoutSetAttribute");
}

absl::StatusOr<CublasLtMatrixLayout> MakeLayout(const CublasLtApi& api,
                                                const Matrix& matrix) {
  cublasLtMatrixLayout_t layout = nullptr;
  SPILLWAY_RETURN_IF_ERROR(CublasLtStatus(
      api,
      api.matrix_layout_create(&layout, CudaType(matrix.dtype),
                               static_cast<uint64_t>(matrix.columns),
                               static_cast<uint64_t>(matrix.rows),
                               matrix.columns),
      "cublasLtMatrixLayoutCreate"));
  CublasLtMatrixLayout owned(layout, api.matrix_layout_destroy);
  if (matrix.batch == 1) return owned;
  const auto count = static_cast<int32_t>(matrix.batch);
  const int64_t stride = matrix.is_repeated ? 0 : matrix.rows * matrix.columns;
  SPILLWAY_RETURN_IF_ERROR(SetLayoutAttribute(
      api, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count));
  SPILLWAY_RETURN_IF_ERROR(SetLayoutAttribute(
      api, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride));
  return owned;
}

template <typename T>
absl::Status SetAttribute(const CublasLtApi& api, cublasLtMatmulDesc_t desc,
                          cublasLtMatmulDescAttributes_t attribute, T value) {
  return CublasLtStatus(
      api,
      api.matmul_desc_set_attribute(desc, attribute, &value, sizeof(value)),
      "cublasLtMatmulDescSetAttribute");
}

absl::Status SetTranspose(const CublasLtApi& api, cublasLtMatmulDesc_t desc,
                          cublasLtMatmulDescAttributes_t attribute,
                          bool transpose) {
  return SetAttribute(api, desc, attribute,
                      transpose ? CUBLAS_OP_T : CUBLAS_OP_N);
}

// Bias and activation. The bias's address is set in each run; by default its
// dtype is that of y.
absl::Status SetEpilogue(const CublasLtApi& api, cublasLtMatmulDesc_t desc,
                         const GpuMatMulSpec& spec) {
  const bool has_bias = spec.bias >= 0;
  if (!has_bias && !spec.has_relu) return absl::OkStatus();
  const cublasLtEpilogue_t of_bias =
      spec.has_relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return SetAttribute(api, desc, CUBLASLT_MATMUL_DESC_EPILOGUE,
                      has_bias ? of_bias : CUBLASLT_EPILOGUE_RELU);
}

absl::StatusOr<CublasLtMatmulDesc> MakeOperation(const CublasLtApi& api,
                                                 const GpuMatMulSpec& spec,
                                                 cublasComputeType_t compute) {
  cublasLtMatmulDesc_t desc = nullptr;
  SPILLWAY_RETURN_IF_ERROR(
      CublasLtStatus(api, api.matmul_desc_create(&desc, compute, CUDA_R_32F),
                     "cublasLtMatmulDescCreate"));
  CublasLtMatmulDesc operation(desc, api.matmul_desc_destroy);
  SPILLWAY_RETURN_IF_ERROR(
      SetTranspose(api, desc, CUBLASLT_MATMUL_DESC_TRANSA, spec.transpose_b));
  SPILLWAY_RETURN_IF_ERROR(
      SetTranspose(api, desc, CUBLASLT_MATMUL_DESC_TRANSB, spec.transpose_a));
  SPILLWAY_RETURN_IF_ERROR(SetEpilogue(api, desc, spec));
  return operation;
}

template <typename T>
absl::Status SetPreference(const CublasLtApi& api,
                           cublasLtMatmulPreference_t preference,
                           cublasLtMatmulPreferenceAttributes_t attribute,
                           T value) {
  return CublasLtStatus(api,
                        api.matmul_preference_set_attribute(
                            preference, attribute, &value, sizeof(value)),
                        "cublasLtMatmulPreferenceSetAttribute");
}

absl::StatusOr<CublasLtMatmulPreference> MakePreference(
    const CublasLtApi& api) {
  cublasLtMatmulPreference_t preference = nullptr;
  SPILLWAY_RETURN_IF_ERROR(
      CublasLtStatus(api, api.matmul_preference_create(&preference),
                     "cublasLtMatmulPreferenceCreate"));
  CublasLtMatmulPreference owned(preference, api.matmul_preference_destroy);
  SPILLWAY_RETURN_IF_ERROR(
      SetPreference(api, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                    kMostWorkspaceBytes));
  // Partial sums stay float32 until they are added.
  SPILLWAY_RETURN_IF_ERROR(SetPreference(
      api, preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
  return owned;
}

absl::Status FindAlgorithms(const GpuMatMulSpec& spec, Product& product) {
  const CublasLtApi& api = *product.api;
  SPILLWAY_ASSIGN_OR_RETURN(const cublasLtHandle_t handle, CublasLtHandle());
  SPILLWAY_ASSIGN_OR_RETURN(const CublasLtMatmulPreference preference,
                            MakePreference(api));
  std::array<cublasLtMatmulHeuristicResult_t, kMostAlgorithms> results = {};
  int count = 0;
  const cublasStatus_t status = api.matmul_algo_get_heuristic(
      handle, product.operation.get(), product.b.get(), product.a.get(),
      product.y.get(), product.y.get(), preference.get(), kMostAlgorithms,
      results.data(), &count);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) {
    SPILLWAY_RETURN_IF_ERROR(
        CublasLtStatus(api, status, "cublasLtMatmulAlgoGetHeuristic"));
    std::copy_if(results.begin(), results.begin() + count,
                 std::back_inserter(product.algorithms), [](const auto& r) {
                   return r.state == CUBLAS_STATUS_SUCCESS;
                 });
  }
  if (!product.algorithms.empty()) return absl::OkStatus();
  return Unimplemented(
      fmt::format("cuBLASLt has no algorithm for a product of {} x {} and "
                  "{} x {} elements",
                  spec.m, spec.k, spec.k, spec.n));
}

// `dtype`: in which a and b are multiplied.
absl::StatusOr<Product> MakeProduct(const GpuMatMulSpec& spec, DType dtype,
                                    const MathOptions& math) {
  Product product;
  SPILLWAY_ASSIGN_OR_RETURN(product.api, CublasLt());
  const CublasLtApi& api = *product.api;
  Matrix a = {.rows = spec.m,
              .columns = spec.k,
              .dtype = dtype,
              .batch = spec.batch,
              .is_repeated = spec.repeats_a};
  Matrix b = {.rows = spec.k,
              .columns = spec.n,
              .dtype = dtype,
              .batch = spec.batch,
              .is_repeated = spec.repeats_b};
  if (spec.transpose_a) std::swap(a.rows, a.columns);
  if (spec.transpose_b) std::swap(b.rows, b.columns);
  const cublasComputeType_t compute =
      dtype == DType::kFloat32 && math.allow_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                  : CUBLAS_COMPUTE_32F;
  SPILLWAY_ASSIGN_OR_RETURN(product.operation,
                            MakeOperation(api, spec, compute));
  SPILLWAY_ASSIGN_OR_RETURN(product.a, MakeLayout(api, a));
  SPILLWAY_ASSIGN_OR_RETURN(product.b, MakeLayout(api, b));
  SPILLWAY_ASSIGN_OR_RETURN(product.y, MakeLayout(api, {.rows = spec.m,
                                                        .columns = spec.n,
                                                        .dtype = spec.y_dtype,
                                                        .batch = spec.batch}));
  SPILLWAY_RETURN_IF_ERROR(FindAlgorithms(spec, product));
  return product;
}

// Workspace: a, b and the bias rounded (only those that need it), then
// cuBLASLt's.
class GpuMatMulKernel final : public Kernel {
 public:
  GpuMatMulKernel(const GpuMatMulSpec& spec, DType dtype, Product product)
      : a_{.input = spec.a,
           .elements = (spec.repeats_a ? 1 : spec.batch) * spec.m * spec.k,
           .dtype = spec.a_dtype,
           .read_dtype = dtype},
        b_{.input = spec.b,
           .elements = (spec.repeats_b ? 1 : spec.batch) * spec.k * spec.n,
           .dtype = spec.b_dtype,
           .read_dtype = dtype},
        bias_{.input = spec.bias,
              .elements = spec.n,
              .dtype = spec.bias_dtype,
              .read_dtype = spec.y_dtype},
        addend_(spec.addend),
        product_(std::move(product)) {
    Reserve(a_);
    Reserve(b_);
    if (has_bias()) Reserve(bias_);
  }

  // Must be called first. `name`: KernelRequest::algorithm.
  absl::Status Choose(std::string_view name) {
    const std::vector<KernelAlgorithm> list = Describe();
    SPILLWAY_ASSIGN_OR_RETURN(const size_t at, AlgorithmNamed(name, list));
    chosen_ = product_.algorithms[at];
    chosen_name_ = list[at].name;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<KernelAlgorithm>> ListAlgorithms() override {
    return Describe();
  }

  std::string_view algorithm() const override { return chosen_name_; }

  int64_t workspace_bytes() const override { return WorkspaceOf(chosen_); }

  absl::Status Run(const KernelContext& context) override {
    SPILLWAY_ASSIGN_OR_RETURN(const cublasLtHandle_t handle, CublasLtHandle());
    SPILLWAY_ASSIGN_OR_RETURN(const void* a, Rounded(a_, context));
    SPILLWAY_ASSIGN_OR_RETURN(const void* b, Rounded(b_, context));
    if (has_bias()) {
      SPILLWAY_ASSIGN_OR_RETURN(const void* bias, Rounded(bias_, context));
      SPILLWAY_RETURN_IF_ERROR(
          SetAttribute(*product_.api, product_.operation.get(),
                       CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
    }
    const float one = 1;
    const float addend_factor = has_addend() ? 1 : 0;
    void* const y = context.outputs[0];
    const void* const addend =
        has_addend() ? context.inputs[static_cast<size_t>(addend_)] : y;
    return CublasLtStatus(
        *product_.api,
        product_.api->matmul(
            handle, product_.operation.get(), &one, b, product_.b.get(), a,
            product_.a.get(), &addend_factor, addend, product_.y.get(), y,
            product_.y.get(), &chosen_.algo, Workspace(context, own_offset_),
            chosen_.workspaceSize, static_cast<cudaStream_t>(context.stream)),
        "cublasLtMatmul");
  }

 private:
  static constexpr int64_t kAlignment = 256;

  struct Operand {
    int input = 0;
    int64_t elements = 0;
    DType dtype = DType::kFloat32;
    DType read_dtype = DType::kFloat32;  // by cuBLASLt
    int64_t workspace_offset = 0;        // of its rounded copy
  };

  bool has_bias() const { return bias_.input >= 0; }
  bool has_addend() const { return addend_ >= 0; }

  void Reserve(Operand& operand) {
    operand.workspace_offset = own_offset_;
    if (operand.dtype == operand.read_dtype) return;
    own_offset_ +=
        AlignUp(operand.elements * SizeOf(operand.read_dtype), kAlignment);
  }

  int64_t WorkspaceOf(const cublasLtMatmulHeuristicResult_t& algorithm) const {
    return own_offset_ + static_cast<int64_t>(algorithm.workspaceSize);
  }

  std::vector<KernelAlgorithm> Describe() const {
    std::vector<KernelAlgorithm> list;
    for (const auto& algorithm : product_.algorithms) {
      list.push_back({.name = fmt::format("heuristic {}", list.size()),
                      .workspace_bytes = WorkspaceOf(algorithm)});
    }
    return list;
  }

  static std::byte* Workspace(const KernelContext& context, int64_t offset) {
    return static_cast<std::byte*>(context.workspace) + offset;
  }

  // The operand in the dtype that cuBLASLt reads.
  absl::StatusOr<const void*> Rounded(const Operand& operand,
                                      const KernelContext& context) const {
    const void* data = context.inputs[static_cast<size_t>(operand.input)];
    if (operand.dtype == operand.read_dtype) return data;
    void* const copy = Workspace(context, operand.workspace_offset);
    SPILLWAY_RETURN_IF_ERROR(LaunchStatus(
        gpu::Convert(context.stream, operand.elements, operand.dtype, data,
                     operand.read_dtype, copy)));
    return copy;
  }

  Operand a_;
  Operand b_;
  Operand bias_;
  int addend_;              // the input; -1: none
  int64_t own_offset_ = 0;  // where cuBLASLt's workspace begins
  Product product_;
  cublasLtMatmulHeuristicResult_t chosen_ = {};
  std::string chosen_name_;
};

}  // namespace

NewKernel MakeGpuMatMulKernel(const KernelRequest& node,
                              const GpuMatMulSpec& spec) {
  const DType dtype = ProductDType(spec);
  SPILLWAY_ASSIGN_OR_RETURN(Product product,
                            MakeProduct(spec, dtype, node.math));
  auto kernel =
      std::make_unique<GpuMatMulKernel>(spec, dtype, std::move(product));
  SPILLWAY_RETURN_IF_ERROR(kernel->Choose(node.algorithm));
  return kernel;
}

}  // namespace spillway
