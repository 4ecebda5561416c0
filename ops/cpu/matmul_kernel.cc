#include "ops/cpu/matmul_kernel.h"

#include <algorithm>

#include "base/status_macros.h"
#include "ops/cpu/lanes.h"
#include "ops/cpu/onednn.h"

namespace spillway {
namespace {

using dnnl::memory;

// The stored layout of one of the matrices, of `batch` of them unless that is
// 0.
memory::desc Matrix(const memory::dims& size, bool transposed, DType dtype,
                    int64_t batch = 0) {
  memory::dims sizes = size;
  memory::dims strides =
      transposed ? memory::dims{1, size[0]} : memory::dims{size[1], 1};
  if (batch > 0) {
    sizes.insert(sizes.begin(), batch);
    strides.insert(strides.begin(), size[0] * size[1]);
  }
  return Strided(sizes, strides, dtype);
}

// Matrices of an operand, as Matrix takes them.
int64_t BatchOf(const MatMulSpec& spec, bool is_repeated) {
  return is_repeated ? std::min<int64_t>(spec.batch, 1) : spec.batch;
}

bool HasBFloat16(const MatMulSpec& spec) {
  return spec.a_dtype == DType::kBFloat16 || spec.b_dtype == DType::kBFloat16 ||
         spec.y_dtype == DType::kBFloat16;
}

absl::Status CheckBFloat16(const MatMulSpec& spec) {
  if (HasBFloat16(spec) && !HasAvx512()) {
    return Unimplemented(
        "matrix products of bfloat16 need a CPU with AVX-512, which this one "
        "lacks; use float32");
  }
  return absl::OkStatus();
}

// Empty without a bias.
memory::desc Bias(const MatMulSpec& spec) {
  if (spec.bias < 0) return {};
  return Matrix({1, spec.n}, false, spec.bias_dtype);
}

dnnl::primitive_attr ProductAttributes(const MatMulSpec& spec) {
  dnnl::primitive_attr attributes = OneDnnProgram::UserScratchpad();
  dnnl::post_ops after;
  if (spec.adds_to_y) after.append_sum(1);
  if (spec.has_relu) {
    after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  }
  attributes.set_post_ops(after);
  return attributes;
}

// An operand, and where the product reads it.
struct Operand {
  memory::desc desc = {};
  Place place = {};
};

// The operand itself, or a copy in bfloat16 if `to_bfloat16` is set and it has
// another dtype.
Operand Prepare(OneDnnProgram& program, const Operand& x, bool to_bfloat16) {
  if (!to_bfloat16 || x.desc.data_type() == memory::data_type::bf16) return x;
  Operand copy = x;
  copy.desc.data.data_type = dnnl_bf16;
  copy.place = program.Reserve(copy.desc);
  program.AddReorder(x.desc, x.place, copy.desc, copy.place);
  return copy;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMulKernel(const MatMulSpec& spec,
                                                         int threads) {
  SPILLWAY_RETURN_IF_ERROR(CheckBFloat16(spec));
  const bool in_bfloat16 = HasBFloat16(spec);
  return MakeOneDnnKernel(threads, [&](OneDnnProgram& program) {
    const Operand a =
        Prepare(program,
                {Matrix({spec.m, spec.k}, spec.transpose_a, spec.a_dtype,
                        BatchOf(spec, spec.repeats_a)),
                 Input(spec.a)},
                in_bfloat16);
    const Operand b =
        Prepare(program,
                {Matrix({spec.k, spec.n}, spec.transpose_b, spec.b_dtype,
                        BatchOf(spec, spec.repeats_b)),
                 Input(spec.b)},
                in_bfloat16);
    const memory::desc y =
        Matrix({spec.m, spec.n}, false, spec.y_dtype, spec.batch);
    const memory::desc bias = Bias(spec);
    const dnnl::matmul::primitive_desc product(
        {a.desc, b.desc, bias, y}, ProductAttributes(spec), program.engine());
    OneDnnStep step = {.primitive = dnnl::matmul(product),
                       .arguments = {{DNNL_ARG_SRC, a.desc, a.place},
                                     {DNNL_ARG_WEIGHTS, b.desc, b.place},
                                     {DNNL_ARG_DST, y, Output(0)}}};
    if (spec.bias >= 0) {
      step.arguments.push_back({DNNL_ARG_BIAS, bias, Input(spec.bias)});
    }
    program.Add(step, product.scratchpad_desc());
  });
}

}  // namespace spillway
