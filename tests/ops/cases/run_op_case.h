// Runs the kernel of an OpCase by itself, between guard bytes.
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
  // Whose pointers are the host's. Null: the CPU's.
  KernelFactory factory = nullptr;
  int threads = 2;
  MathOptions math = {};
  std::string algorithm = {};  // as KernelRequest::algorithm
  std::optional<BufferPair> in_place = std::nullopt;
};

struct OpRun {
  std::vector<HostTensor> outputs;
  std::vector<HostTensor> inputs;  // as they are after the run
};

// Errors: the kernel's; INTERNAL when it writes outside its buffers.
absl::StatusOr<OpRun> RunOpCase(const OpCase& op_case,
                                const RunOpOptions& options = {});

// What the case's kernel lists; nothing where it needs none.
absl::StatusOr<std::vector<KernelAlgorithm>> ListAlgorithms(
    const OpCase& op_case, const RunOpOptions& options = {});

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_CASES_RUN_OP_CASE_H_
