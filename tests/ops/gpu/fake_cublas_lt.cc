#include "tests/ops/gpu/fake_cublas_lt.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

// The target of a handle.
struct cublasLtContext {
  int number = 0;
};

namespace spillway::testing {
namespace {

constexpr uint64_t kFirstAlgorithm = 0x5eed;

struct Operation : cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cublasOperation_t a = CUBLAS_OP_N;
  cublasOperation_t b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;

  bool has_bias() const {
    return epilogue == CUBLASLT_EPILOGUE_BIAS ||
           epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  }
  bool has_relu() const {
    return epilogue == CUBLASLT_EPILOGUE_RELU ||
           epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  }
};

struct Layout : cublasLtMatrixLayoutOpaque_t {
  cudaDataType type = CUDA_R_32F;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading = 0;
  int32_t batch = 1;
  int64_t batch_stride = 0;  // elements
};

struct Preference : cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspace_bytes = 0;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
};

// Column-major, optionally read as its transpose.
struct View {
  Layout layout;
  bool transposed = false;

  int64_t rows() const { return transposed ? layout.columns : layout.rows; }
  int64_t columns() const { return transposed ? layout.rows : layout.columns; }
  DType dtype() const {
    return layout.type == CUDA_R_16BF  ? DType::kBFloat16
           : layout.type == CUDA_R_16F ? DType::kFloat16
                                       : DType::kFloat32;
  }
  // In matrix `number` of the batch.
  int64_t at(int64_t row, int64_t column, int64_t number) const {
    const int64_t place = transposed ? row * layout.leading + column
                                     : column * layout.leading + row;
    return number * layout.batch_stride + place;
  }
};

bool IsGoodLayout(const Layout& layout) {
  return (layout.type == CUDA_R_32F || layout.type == CUDA_R_16BF ||
          layout.type == CUDA_R_16F) &&
         layout.rows > 0 && layout.columns > 0 && layout.leading >= layout.rows;
}

bool Fit(const View& a, const View& b, const View& d) {
  return IsGoodLayout(a.layout) && IsGoodLayout(b.layout) &&
         IsGoodLayout(d.layout) && a.layout.type == b.layout.type &&
         (d.dtype() == a.dtype() || d.dtype() == DType::kFloat32) &&
         a.columns() == b.rows() && d.rows() == a.rows() &&
         d.columns() == b.columns() && a.layout.batch == d.layout.batch &&
         b.layout.batch == d.layout.batch;
}

// Stores the argument of a function that sets an attribute.
template <typename T>
cublasStatus_t Set(T& value, const void* buffer, size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&value, buffer, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

bool CublasLtFails(const char* call) { return FakeCublasLt().Fails(call); }

// Creates and counts an object behind a pointer of the library's type.
template <typename T, typename Opaque>
cublasStatus_t Create(const char* call, const T& object, Opaque** created) {
  if (CublasLtFails(call)) return CUBLAS_STATUS_ALLOC_FAILED;
  *created = new T(object);
  ++FakeCublasLt().objects;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T, typename Opaque>
cublasStatus_t Destroy(Opaque* object) {
  delete static_cast<T*>(object);
  --FakeCublasLt().objects;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CreateHandle(cublasLtHandle_t* handle) {
  FakeCublasLtState& fake = FakeCublasLt();
  const cublasLtContext context = {.number = fake.handles};
  const cublasStatus_t status = Create("cublasLtCreate", context, handle);
  if (status == CUBLAS_STATUS_SUCCESS) {
    ++fake.handles;
    if (fake.on_handle) fake.on_handle();
  }
  return status;
}

cublasStatus_t CreateOperation(cublasLtMatmulDesc_t* desc,
                               cublasComputeType_t compute,
                               cudaDataType_t scale) {
  if ((compute != CUBLAS_COMPUTE_32F &&
       compute != CUBLAS_COMPUTE_32F_FAST_TF32) ||
      scale != CUDA_R_32F) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  Operation given;
  given.compute = compute;
  return Create("cublasLtMatmulDescCreate", given, desc);
}

cublasStatus_t SetOperation(cublasLtMatmulDesc_t desc,
                            cublasLtMatmulDescAttributes_t attribute,
                            const void* buffer, size_t bytes) {
  if (CublasLtFails("cublasLtMatmulDescSetAttribute")) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  auto& operation = static_cast<Operation&>(*desc);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA) {
    return Set(operation.a, buffer, bytes);
  }
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSB) {
    return Set(operation.b, buffer, bytes);
  }
  if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE) {
    return Set(operation.epilogue, buffer, bytes);
  }
  if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER) {
    return Set(operation.bias, buffer, bytes);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t CreateLayout(cublasLtMatrixLayout_t* layout, cudaDataType type,
                            uint64_t rows, uint64_t columns, int64_t leading) {
  Layout given;
  given.type = type;
  given.rows = static_cast<int64_t>(rows);
  given.columns = static_cast<int64_t>(columns);
  given.leading = leading;
  return Create("cublasLtMatrixLayoutCreate", given, layout);
}

cublasStatus_t SetLayout(cublasLtMatrixLayout_t desc,
                         cublasLtMatrixLayoutAttribute_t attribute,
                         const void* buffer, size_t bytes) {
  if (CublasLtFails("cublasLtMatrixLayoutSetAttribute")) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  auto& layout = static_cast<Layout&>(*desc);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) {
    return Set(layout.batch, buffer, bytes);
  }
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) {
    return Set(layout.batch_stride, buffer, bytes);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t CreatePreference(cublasLtMatmulPreference_t* preference) {
  return Create("cublasLtMatmulPreferenceCreate", Preference(), preference);
}

cublasStatus_t SetPreference(cublasLtMatmulPreference_t desc,
                             cublasLtMatmulPreferenceAttributes_t attribute,
                             const void* buffer, size_t bytes) {
  if (CublasLtFails("cublasLtMatmulPreferenceSetAttribute")) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  auto& preference = static_cast<Preference&>(*desc);
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    return Set(preference.workspace_bytes, buffer, bytes);
  }
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) {
    return Set(preference.reductions, buffer, bytes);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

// Only float32 is rounded to TF32.
bool ProductFits(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                 cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t d) {
  const auto& operation = static_cast<const Operation&>(*desc);
  if (operation.compute != CUBLAS_COMPUTE_32F &&
      static_cast<const Layout&>(*a).type != CUDA_R_32F) {
    return false;
  }
  return Fit({static_cast<const Layout&>(*a), operation.a == CUBLAS_OP_T},
             {static_cast<const Layout&>(*b), operation.b == CUBLAS_OP_T},
             {static_cast<const Layout&>(*d)});
}

size_t WorkspaceBytesOf(int algorithm) {
  return FakeCublasLt().workspace_bytes +
         size_t{256} * static_cast<size_t>(algorithm);
}

cublasStatus_t GetHeuristic(cublasLtHandle_t /*handle*/,
                            cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                            cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                            cublasLtMatrixLayout_t d,
                            cublasLtMatmulPreference_t preference,
                            int requested,
                            cublasLtMatmulHeuristicResult_t* results,
                            int* returned) {
  FakeCublasLtState& fake = FakeCublasLt();
  if (CublasLtFails("cublasLtMatmulAlgoGetHeuristic") || requested < 1 ||
      c != d || !ProductFits(desc, a, b, d)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto& wanted = static_cast<const Preference&>(*preference);
  fake.most_workspace_bytes = wanted.workspace_bytes;
  // Other reductions round partial sums to the output's dtype.
  *returned = 0;
  if (wanted.reductions != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) {
    return CUBLAS_STATUS_SUCCESS;
  }
  for (int i = 0; i < std::min(requested, fake.algorithms); ++i) {
    if (WorkspaceBytesOf(i) > wanted.workspace_bytes) break;
    results[i] = {};
    results[i].algo.data[0] = kFirstAlgorithm + static_cast<uint64_t>(i);
    results[i].workspaceSize = WorkspaceBytesOf(i);
    results[i].state = i == fake.unusable_algorithm
                           ? CUBLAS_STATUS_NOT_SUPPORTED
                           : CUBLAS_STATUS_SUCCESS;
    ++*returned;
  }
  return CUBLAS_STATUS_SUCCESS;
}

// The bias has the dtype of the result, and one element for each of its rows.
double AfterProduct(const Operation& operation, int64_t row, const View& d,
                    double product) {
  if (operation.has_bias()) {
    product += ReadElement(operation.bias, row, d.dtype());
  }
  return operation.has_relu() ? std::max(product, 0.0) : product;
}

// Reads row by row; the transpose of `view` if `transpose`.
std::vector<double> ReadMatrix(const View& view, const void* data,
                               int64_t number, bool transpose) {
  const int64_t rows = transpose ? view.columns() : view.rows();
  const int64_t columns = transpose ? view.rows() : view.columns();
  std::vector<double> elements(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      elements[static_cast<size_t>(i * columns + j)] = ReadElement(
          data, transpose ? view.at(j, i, number) : view.at(i, j, number),
          view.dtype());
    }
  }
  return elements;
}

void MultiplyOne(const Operation& operation, const View& a, const void* a_data,
                 const View& b, const void* b_data, const View& d, double alpha,
                 double beta, const void* c_data, int64_t number,
                 void* d_data) {
  const std::vector<double> of_a =
      ReadMatrix(a, a_data, number, /*transpose=*/false);
  const std::vector<double> of_b =
      ReadMatrix(b, b_data, number, /*transpose=*/true);
  const int64_t depth = a.columns();
  for (int64_t column = 0; column < d.columns(); ++column) {
    for (int64_t row = 0; row < d.rows(); ++row) {
      const double sum = std::inner_product(of_a.data() + row * depth,
                                            of_a.data() + (row + 1) * depth,
                                            of_b.data() + column * depth, 0.0);
      const int64_t at = d.at(row, column, number);
      const double addend =
          beta == 0 ? 0 : beta * ReadElement(c_data, at, d.dtype());
      WriteElement(d_data, at, d.dtype(),
                   AfterProduct(operation, row, d, alpha * sum + addend));
    }
  }
}

void Multiply(const Operation& operation, const View& a, const void* a_data,
              const View& b, const void* b_data, const View& d, double alpha,
              double beta, const void* c_data, void* d_data) {
  for (int64_t number = 0; number < d.layout.batch; ++number) {
    MultiplyOne(operation, a, a_data, b, b_data, d, alpha, beta, c_data, number,
                d_data);
  }
}

cublasStatus_t Matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                      const void* alpha, const void* a_data,
                      cublasLtMatrixLayout_t a, const void* b_data,
                      cublasLtMatrixLayout_t b, const void* beta,
                      const void* c_data, cublasLtMatrixLayout_t c,
                      void* d_data, cublasLtMatrixLayout_t d,
                      const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                      size_t workspace_bytes, cudaStream_t stream) {
  FakeCublasLtState& fake = FakeCublasLt();
  const auto number = static_cast<int>(algorithm->data[0] - kFirstAlgorithm);
  if (CublasLtFails("cublasLtMatmul") || !ProductFits(desc, a, b, d) ||
      c != d || c_data == nullptr || number < 0 || number >= fake.algorithms ||
      number == fake.unusable_algorithm ||
      workspace_bytes < WorkspaceBytesOf(number)) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  const auto operation = static_cast<const Operation&>(*desc);
  if (operation.has_bias() && operation.bias == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const View of_a = {static_cast<const Layout&>(*a),
                     operation.a == CUBLAS_OP_T};
  const View of_b = {static_cast<const Layout&>(*b),
                     operation.b == CUBLAS_OP_T};
  const View of_d = {static_cast<const Layout&>(*d)};
  const float factor = *static_cast<const float*>(alpha);
  const float c_factor = *static_cast<const float*>(beta);
  fake.algorithm = number;
  fake.handle_number = handle->number;
  fake.compute = operation.compute;
  fake.Queue(stream, [=] {
    Overwrite(workspace, workspace_bytes);
    Multiply(operation, of_a, a_data, of_b, b_data, of_d, factor, c_factor,
             c_data, d_data);
  });
  return CUBLAS_STATUS_SUCCESS;
}

const char* StatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_EXECUTION_FAILED
             ? "CUBLAS_STATUS_EXECUTION_FAILED"
             : "CUBLAS_STATUS_OTHER";
}

const char* StatusString(cublasStatus_t /*status*/) { return "in words"; }

}  // namespace

FakeCublasLtState& FakeCublasLt() {
  static FakeCublasLtState state;
  return state;
}

const CublasLtApi& FakeCublasLtApi() {
  static const CublasLtApi kApi = {
      .get_version = [] { return size_t{130002}; },
      .create = CreateHandle,
      .destroy = Destroy<cublasLtContext, cublasLtContext>,
      .get_status_name = StatusName,
      .get_status_string = StatusString,
      .matmul_desc_create = CreateOperation,
      .matmul_desc_destroy = Destroy<Operation, cublasLtMatmulDescOpaque_t>,
      .matmul_desc_set_attribute = SetOperation,
      .matrix_layout_create = CreateLayout,
      .matrix_layout_destroy = Destroy<Layout, cublasLtMatrixLayoutOpaque_t>,
      .matrix_layout_set_attribute = SetLayout,
      .matmul_preference_create = CreatePreference,
      .matmul_preference_destroy =
          Destroy<Preference, cublasLtMatmulPreferenceOpaque_t>,
      .matmul_preference_set_attribute = SetPreference,
      .matmul_algo_get_heuristic = GetHeuristic,
      .matmul = Matmul,
  };
  return kApi;
}

}  // namespace spillway::testing
