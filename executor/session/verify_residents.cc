#include "executor/session/verify_residents.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// A Variable of any program, or a constant of one.
struct Placed {
  std::string name;
  TensorType type;
  Space space = Space::kDevice;
  int64_t offset = 0;
  size_t program = 0;  // the first program that has it

  int64_t end() const { return offset + type.num_bytes(); }
};

// The program of a constant, or kShared for a Variable, which belongs to all
// programs; and the name.
using Key = std::pair<size_t, std::string>;
constexpr size_t kShared = static_cast<size_t>(-1);

class Verifier {
 public:
  explicit Verifier(const PlannedPrograms& planned) : planned_(planned) {}

  absl::Status Run() {
    for (size_t i = 0; i < planned_.programs.size(); ++i) {
      SPILLWAY_RETURN_IF_ERROR(Collect(i));
    }
    SPILLWAY_RETURN_IF_ERROR(CheckAreApart());
    for (size_t i = 0; i < planned_.programs.size(); ++i) {
      SPILLWAY_RETURN_IF_ERROR(CheckProgram(i));
    }
    return CheckList();
  }

 private:
  absl::Status Collect(size_t program) {
    const Graph& graph = planned_.programs[program].graph;
    const ExecutionPlan& plan = planned_.programs[program].plan;
    for (const Node& node : graph.nodes()) {
      for (const ValueId output : node.outputs) {
        const BufferId id = plan.buffer_of[output];
        const bool is_resident = node.op == kVariable || node.op == kConst;
        if (!is_resident || !id.is_valid()) continue;
        const Placed here = {.name = node.name,
                             .type = graph.type(output),
                             .space = plan.buffers[id].space,
                             .offset = plan.buffers[id].offset,
                             .program = program};
        const Key key(node.op == kVariable ? kShared : program, node.name);
        const Placed& first = placed_.try_emplace(key, here).first->second;
        if (first.space != here.space || first.offset != here.offset ||
            first.type != here.type) {
          return Internal(fmt::format(
              "variable {} is {} at {} in program {}, but {} at {} in program "
              "{}",
              node.name, first.type.ToString(), first.offset, first.program,
              here.type.ToString(), here.offset, program));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckAreApart() const {
    std::vector<const Placed*> in_order;
    for (const auto& [key, placed] : placed_) in_order.push_back(&placed);
    std::ranges::stable_sort(in_order, {}, [](const Placed* placed) {
      return std::pair(placed->space, placed->offset);
    });
    for (size_t i = 1; i < in_order.size(); ++i) {
      const Placed& a = *in_order[i - 1];
      const Placed& b = *in_order[i];
      if (a.space != b.space || a.end() <= b.offset) continue;
      return Internal(fmt::format(
          "residents {} of program {} and {} of program {} share bytes", a.name,
          a.program, b.name, b.program));
    }
    return absl::OkStatus();
  }

  // All other buffers of the plan are above its residents (VerifyPlan).
  absl::Status CheckProgram(size_t program) const {
    const ExecutionPlan& plan = planned_.programs[program].plan;
    for (const auto& [key, placed] : placed_) {
      const int64_t residents = ResidentBytes(plan, placed.space);
      if (placed.end() <= residents) continue;
      return Internal(fmt::format(
          "program {} uses bytes from {} on, where {} of program {} lies",
          program, residents, placed.name, placed.program));
    }
    if (plan.device_bytes > planned_.device_bytes ||
        plan.host_bytes > planned_.host_bytes) {
      return Internal(fmt::format(
          "program {} needs {} and {} bytes, the arenas have {} and {}",
          program, plan.device_bytes, plan.host_bytes, planned_.device_bytes,
          planned_.host_bytes));
    }
    return absl::OkStatus();
  }

  // The list says where values are initialised, read and written.
  absl::Status CheckList() const {
    if (planned_.residents.size() != placed_.size()) {
      return Internal(fmt::format("{} residents are listed, the plans have {}",
                                  planned_.residents.size(), placed_.size()));
    }
    std::set<Key> seen;
    for (const Resident& listed : planned_.residents) {
      const Key key(listed.is_variable ? kShared : listed.program, listed.name);
      if (!seen.insert(key).second) {
        return Internal(fmt::format("{} of program {} is listed twice",
                                    listed.name, listed.program));
      }
      const auto found = placed_.find(key);
      if (found == placed_.end() || found->second.space != listed.space ||
          found->second.offset != listed.offset ||
          found->second.type != listed.type) {
        return Internal(
            fmt::format("{} is listed as {} at {}, where no plan "
                        "has it",
                        listed.name, listed.type.ToString(), listed.offset));
      }
    }
    return absl::OkStatus();
  }

  const PlannedPrograms& planned_;
  std::map<Key, Placed> placed_;
};

}  // namespace

absl::Status VerifyResidents(const PlannedPrograms& planned) {
  return Verifier(planned).Run();
}

}  // namespace spillway
