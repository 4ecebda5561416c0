// OpCase: everything that the suites need to check an op. One list of cases
// (all_cases.cc), one program that checks each (op_suite_test.cc).
#ifndef SPILLWAY_TESTS_OPS_CASES_OP_CASE_H_
#define SPILLWAY_TESTS_OPS_CASES_OP_CASE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "graph/attributes.h"
#include "graph/tensor_type.h"

namespace spillway::testing {

// Elements of a tensor of any dtype, row-major.
using Doubles = std::vector<double>;

// How to generate the inputs of a case; deterministic on every machine.
enum class Fill : uint8_t {
  kNormal,    // mean 0, standard deviation `high`
  kUniform,   // [low, high), real
  kIntegers,  // {low, ..., high - 1}: labels, indices, bools
  kDistinct,  // a shuffle of evenly spaced reals in [low, high): no near ties
  kValues,    // `values`
};

struct CaseInput {
  TensorType type;
  Fill fill = Fill::kNormal;
  double low = 0;
  double high = 1;
  Doubles values = {};
};

using DoublesList = std::vector<Doubles>;

// Naive, in double, independent of the kernel: outputs from inputs, in order,
// followed by the new value of every input that the op mutates.
using Reference = std::function<DoublesList(const DoublesList& inputs)>;

struct OpCase {
  std::string name;  // letters and digits: part of the test's name
  std::string op;
  std::vector<CaseInput> inputs = {};
  Attributes attributes = {};
  std::vector<TensorType> outputs = {};  // expected from shape inference
  Reference reference = nullptr;

  // |got - want| <= tolerance * max(1, |want|). Integers and bools are exact.
  double tolerance = 1e-5;

  // Inputs whose gradient (of the graph built by the op's gradient function,
  // run by EvalGraph) is compared with central differences of `reference`; the
  // loss is a fixed random combination of `gradient_outputs`.
  std::vector<int> gradients = {};
  std::vector<int> gradient_outputs = {0};
  double gradient_tolerance = 1e-4;
  double gradient_step = 1e-4;

  // Expected from the op's cost function; nothing: not checked.
  std::optional<double> flops = std::nullopt;

  // A library may split sums by thread; our own kernels must not.
  bool same_bits_for_any_threads = true;

  // The kernel is skipped on a CPU without AVX-512.
  bool needs_avx512 = false;
};

// A node that shape inference must refuse with INVALID_ARGUMENT.
struct BadOp {
  std::string name;  // letters and digits: part of the test's name
  std::string op;
  std::vector<TensorType> inputs = {};
  Attributes attributes = {};
  std::string error;  // part of the message
};

// How the tests of a case are printed.
inline void PrintTo(const OpCase& op_case, std::ostream* out) {
  *out << op_case.name;
}
inline void PrintTo(const BadOp& bad, std::ostream* out) { *out << bad.name; }

// The cases of one file of ops.
struct OpCases {
  std::vector<OpCase> good = {};
  // The CPU has no kernels for these, except if bytes are only moved.
  std::vector<OpCase> only_on_gpu = {};
  std::vector<BadOp> bad = {};
};

// The seed and step that every kernel of a case runs with.
inline constexpr uint64_t kCaseSeed = 7;
inline constexpr int64_t kCaseStep = 3;

inline TensorType Float32(const Shape& shape) {
  return {.dtype = DType::kFloat32, .shape = shape};
}
inline TensorType BFloat16s(const Shape& shape) {
  return {.dtype = DType::kBFloat16, .shape = shape};
}
inline TensorType Int32(const Shape& shape) {
  return {.dtype = DType::kInt32, .shape = shape};
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_CASES_OP_CASE_H_
