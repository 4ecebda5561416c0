#include "ops/cpu/matmul_kernel.h"

#include "ops/cpu/onednn.h"

namespace spillway {
namespace {

dnnl::memory::desc Matrix(int64_t rows, int64_t columns, bool transposed) {
  return transposed ? Strided({rows, columns}, {1, rows})
                    : Strided({rows, columns}, {columns, 1});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMulKernel(const MatMulSpec& spec,
                                                         int threads) {
  return MakeOneDnnKernel(threads, [&](OneDnnProgram& program) {
    const auto a = Matrix(spec.m, spec.k, spec.transpose_a);
    const auto b = Matrix(spec.k, spec.n, spec.transpose_b);
    const auto y = Matrix(spec.m, spec.n, false);
    const dnnl::matmul::primitive_desc product(
        {a, b, y}, OneDnnProgram::UserScratchpad(), program.engine());
    program.Add({.primitive = dnnl::matmul(product),
                 .arguments = {{DNNL_ARG_SRC, a, Input(spec.a)},
                               {DNNL_ARG_WEIGHTS, b, Input(spec.b)},
                               {DNNL_ARG_DST, y, Output(0)}}},
                product.scratchpad_desc());
  });
}

}  // namespace spillway
