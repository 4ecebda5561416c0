// On a CPU, a MatMul with a bias is bitwise identical to MatMul, BiasAdd in
// float32, as the pass fuse_matmul_bias promises.
#include <cstdint>
#include <vector>

#include "tests/ops/cases/run_op_case.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::CaseInput;
using testing::Float32;
using testing::OpCase;
using testing::OpRun;
using testing::RunOpCase;

struct Product {
  int64_t m = 1;
  int64_t k = 1;
  int64_t n = 1;
  bool transpose_b = false;
  bool has_relu = false;
  int threads = 1;
};

OpCase CaseOf(const Product& p) {
  const Shape b = p.transpose_b ? Shape{p.n, p.k} : Shape{p.k, p.n};
  return {.name = "Product",
          .op = "MatMul",
          .inputs = {{.type = Float32({p.m, p.k})}, {.type = Float32(b)}},
          .attributes = {{"transpose_b", p.transpose_b}},
          .outputs = {Float32({p.m, p.n})}};
}

void ExpectTheBitsOfTwoNodes(const Product& p) {
  SCOPED_TRACE(::testing::Message()
               << p.m << " x " << p.k << " x " << p.n << ", transposed "
               << p.transpose_b << ", relu " << p.has_relu << ", threads "
               << p.threads);
  OpCase fused = CaseOf(p);
  fused.inputs.push_back({.type = Float32({p.n})});
  fused.attributes.Set("activation", p.has_relu ? "relu" : "none");
  ASSERT_OK_AND_ASSIGN(const OpRun product,
                       RunOpCase(CaseOf(p), {.threads = p.threads}));
  ASSERT_OK_AND_ASSIGN(const OpRun got,
                       RunOpCase(fused, {.threads = p.threads}));
  const float* bias = got.inputs[2].data<float>();
  const float* sums = product.outputs[0].data<float>();
  for (int64_t i = 0; i < p.m * p.n; ++i) {
    const float sum = sums[i] + bias[i % p.n];
    const float want = p.has_relu && sum < 0 ? 0.0F : sum;
    ASSERT_EQ(got.outputs[0].data<float>()[i], want) << "element " << i;
  }
}

TEST(MatMulBiasTest, HasTheBitsOfTwoNodes) {
  const std::vector<Product> sizes = {
      {.m = 1, .k = 40, .n = 33},     {.m = 5, .k = 7, .n = 3},
      {.m = 32, .k = 512, .n = 10},   {.m = 65, .k = 130, .n = 97},
      {.m = 64, .k = 512, .n = 1000}, {.m = 256, .k = 1024, .n = 64},
      {.m = 31, .k = 1, .n = 17},     {.m = 2, .k = 2048, .n = 256}};
  for (Product p : sizes) {
    for (const int threads : {1, 2, 3}) {
      for (const bool transpose_b : {false, true}) {
        for (const bool has_relu : {false, true}) {
          p.threads = threads;
          p.transpose_b = transpose_b;
          p.has_relu = has_relu;
          ExpectTheBitsOfTwoNodes(p);
        }
      }
    }
  }
}

}  // namespace
}  // namespace spillway
