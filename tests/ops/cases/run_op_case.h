// Runs the kernel of an OpCase alone, between guard bytes.
#ifndef SPILLWAY_TESTS_OPS_CASES_RUN_OP_CASE_H_
#define SPILLWAY_TESTS_OPS_CASES_RUN_OP_CASE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/kernel.h"
#include "executor/session/session.h"
#include "graph/op_def.h"
#include "tests/ops/cases/op_case.h"

namespace spillway::testing {

// The inputs of a case, filled.
std::vector<HostTensor> MakeInputs(const OpCase& op_case);

// Each element rounded to the type's dtype.
HostTensor FromDoubles(const TensorType& type, const Doubles& data);
Doubles ToDoubles(const HostTensor& tensor);

struct RunOpOptions {
  // Makes kernels whose pointers are in host memory. Null: the CPU's.
  KernelFactory factory = nullptr;
  // Makes the kernels that copy parts of values (executor/parts_kernel.h).
  KernelFactory slice = nullptr;
  int threads = 2;
  MathOptions math = {};
  std::string algorithm = {};             // as KernelRequest::algorithm
  std::vector<BufferPair> in_place = {};  // outputs in the bytes of inputs
};

// The sets of pairs that RunOpOptions::in_place may name: each legal pair alone
// and, if the op allows several, each set of pairs with different inputs and
// outputs. Only inputs and outputs of equal size are paired, which leaves out
// broadcast inputs.
std::vector<std::vector<BufferPair>> InPlaceChoices(const OpCase& op_case);

struct OpRun {
  std::vector<HostTensor> outputs;
  std::vector<HostTensor> inputs;  // as they are after the run
};

// Errors: the kernel's; INTERNAL if it writes outside its buffers.
absl::StatusOr<OpRun> RunOpCase(const OpCase& op_case,
                                const RunOpOptions& options = {});

// The algorithms that the case's kernel lists; empty if it needs no kernel.
absl::StatusOr<std::vector<KernelAlgorithm>> ListAlgorithms(
    const OpCase& op_case, const RunOpOptions& options = {});

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_CASES_RUN_OP_CASE_H_
