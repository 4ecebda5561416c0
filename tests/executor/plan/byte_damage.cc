// Damage to the offsets of a plan's buffers and to their assignment.
#include <algorithm>
#include <utility>

#include "base/interval.h"
#include "tests/executor/plan/naive_plan.h"
#include "tests/executor/plan/plan_damage.h"

namespace spillway::testing {
namespace {

// Gives all values in `from` the bytes of `to`.
void MergeBuffers(ExecutionPlan& plan, BufferId from, BufferId to) {
  for (Step& step : plan.steps) {
    std::ranges::replace(step.inputs, from, to);
    std::ranges::replace(step.outputs, from, to);
  }
  std::ranges::replace(plan.buffer_of, from, to);
}

// Gives one value a new buffer above all others.
void MoveToNewBuffer(Patient& patient, ValueId value) {
  ExecutionPlan& plan = patient.plan;
  Buffer buffer = plan.buffers[plan.buffer_of[value]];
  buffer.kind = BufferKind::kTransient;
  buffer.offset = (plan.device_bytes + 255) / 256 * 256;
  plan.device_bytes = buffer.offset + buffer.bytes;
  const BufferId fresh = plan.buffers.push_back(buffer);
  plan.buffer_of[value] = fresh;
  for (Step& step : plan.steps) {
    const Node& node = patient.graph.node(step.node);
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (node.inputs[i] == value) step.inputs[i] = fresh;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == value) step.outputs[i] = fresh;
    }
  }
}

std::vector<Damage> PlacementDamages() {
  return {
      {"moved onto a live neighbour", Verdict::kFaulty,
       [](Patient& p) {
         const auto a = p.AnyOf(p.Transients());
         if (!a) return false;
         const auto b = p.AnyOf(p.Buffers([&](BufferId id) {
           return id != *a && !IsResident(p.plan.buffers[id]) &&
                  p.plan.buffers[id].bytes > 0 &&
                  p.plan.buffers[id].space == p.plan.buffers[*a].space &&
                  Overlap(NaiveLife(p.plan, id), NaiveLife(p.plan, *a));
         }));
         if (!b) return false;
         p.plan.buffers[*a].offset = p.plan.buffers[*b].offset;
         return true;
       }},
      {"moved below the residents", Verdict::kFaulty,
       [](Patient& p) {
         const auto buffer = p.AnyOf(p.Buffers([&](BufferId id) {
           return !IsResident(p.plan.buffers[id]) &&
                  p.plan.buffers[id].space == Space::kDevice;
         }));
         if (!buffer || p.plan.resident_bytes == 0) return false;
         p.plan.buffers[*buffer].offset = p.plan.resident_bytes - 256;
         return true;
       }},
      {"moved beyond the arena", Verdict::kFaulty,
       [](Patient& p) {
         const auto id = p.AnyOf(p.Transients());
         if (!id) return false;
         Buffer& buffer = p.plan.buffers[*id];
         const int64_t end = buffer.space == Space::kDevice
                                 ? p.plan.device_bytes
                                 : p.plan.host_bytes;
         buffer.offset = (end - buffer.bytes) / 256 * 256 + 256;
         return true;
       }},
      {"not aligned", Verdict::kFaulty,
       [](Patient& p) {
         const auto buffer = p.AnyOf(p.Transients());
         if (buffer) p.plan.buffers[*buffer].offset += 8;
         return buffer.has_value();
       }},
  };
}

std::vector<Damage> ArenaDamages() {
  return {
      {"moved anywhere", Verdict::kEither,
       [](Patient& p) {
         const auto buffer = p.AnyOf(p.Transients());
         if (!buffer) return false;
         p.plan.buffers[*buffer].offset = static_cast<int64_t>(
             p.Below(static_cast<uint64_t>(p.plan.device_bytes)) / 256 * 256);
         return true;
       }},
      {"a smaller arena", Verdict::kFaulty,
       [](Patient& p) {
         if (p.plan.device_bytes == p.plan.resident_bytes) return false;
         p.plan.device_bytes -= 1;
         return true;
       }},
      {"a larger arena", Verdict::kValid,
       [](Patient& p) {
         p.plan.device_bytes += 1;
         p.plan.host_bytes += 1;
         return true;
       }},
      {"a resident onto another", Verdict::kFaulty,
       [](Patient& p) {
         const std::vector<BufferId> residents = p.Residents();
         if (residents.size() < 2) return false;
         p.plan.buffers[residents[0]].offset =
             p.plan.buffers[residents[1]].offset;
         return true;
       }},
      {"a resident above its part", Verdict::kFaulty,
       [](Patient& p) {
         const auto resident = p.AnyOf(p.Residents());
         if (!resident) return false;
         p.plan.buffers[*resident].offset = p.plan.resident_bytes;
         return true;
       }},
  };
}

std::vector<Damage> BufferDamages() {
  const auto values_buffer = [](Patient& p) {
    return p.AnyOf(p.Buffers([&](BufferId id) {
      return p.plan.buffers[id].kind == BufferKind::kTransient &&
             !UsesOf(p.plan, id).empty();
    }));
  };
  return {
      {"a buffer too small", Verdict::kFaulty,
       [=](Patient& p) {
         const auto buffer = values_buffer(p);
         if (buffer) p.plan.buffers[*buffer].bytes -= 1;
         return buffer.has_value();
       }},
      {"a buffer too large", Verdict::kFaulty,
       [=](Patient& p) {
         const auto buffer = values_buffer(p);
         if (buffer) p.plan.buffers[*buffer].bytes += 1;
         return buffer.has_value();
       }},
      {"a buffer in the wrong space", Verdict::kFaulty,
       [=](Patient& p) {
         const auto buffer = values_buffer(p);
         if (!buffer) return false;
         Space& space = p.plan.buffers[*buffer].space;
         space = space == Space::kHost ? Space::kDevice : Space::kHost;
         return true;
       }},
      {"a slot with another buffer", Verdict::kFaulty,
       [](Patient& p) {
         const auto step = p.AnyOf(p.Steps(
             [&](StepId id) { return !p.plan.steps[id].inputs.empty(); }));
         if (!step || p.plan.buffers.size() < 2) return false;
         std::vector<BufferId>& inputs = p.plan.steps[*step].inputs;
         BufferId& slot = inputs[p.Below(inputs.size())];
         slot =
             BufferId((slot.index() + 1 + p.Below(p.plan.buffers.size() - 1)) %
                      p.plan.buffers.size());
         return true;
       }},
  };
}

std::vector<Damage> FetchDamages() {
  return {
      {"fetched bytes that are reused", Verdict::kFaulty,
       [](Patient& p) {
         const auto reuse = p.AnyOf(ReusePairs(p.plan));
         if (!reuse) return false;
         for (const ValueId value : p.graph.values().ids()) {
           const BufferId buffer = p.plan.buffer_of[value];
           if (!buffer.is_valid()) continue;
           const auto later = p.Buffers([&](BufferId id) {
             return !UsesOf(p.plan, id).empty() &&
                    !UsesOf(p.plan, buffer).empty() &&
                    UsesOf(p.plan, buffer).front() <
                        UsesOf(p.plan, id).front() &&
                    ShareBytes(p.plan.buffers[id], p.plan.buffers[buffer]);
           });
           if (later.empty()) continue;
           p.plan.fetches.push_back(value);
           return true;
         }
         return false;  // only scratch is reused
       }},
      {"any value fetched", Verdict::kEither,
       [](Patient& p) {
         const ValueId value(p.Below(p.graph.num_values()));
         p.plan.fetches.push_back(value);
         return true;
       }},
  };
}

std::vector<Damage> SharingDamages() {
  return {
      {"computed in place although a reader comes later", Verdict::kFaulty,
       [](Patient& p) {
         const auto step = p.AnyOf(p.Steps([&](StepId id) {
           const Step& step = p.plan.steps[id];
           return p.NodeOf(id).op == "InPlace" &&
                  step.inputs[0] != step.outputs[0] &&
                  !IsResident(p.plan.buffers[step.inputs[0]]) &&
                  std::ranges::any_of(p.Steps(), [&](StepId later) {
                    return later > id &&
                           std::ranges::count(p.plan.steps[later].inputs,
                                              step.inputs[0]) > 0;
                  });
         }));
         if (!step) return false;
         MergeBuffers(p.plan, p.plan.steps[*step].outputs[0],
                      p.plan.steps[*step].inputs[0]);
         return true;
       }},
      {"back into the bytes it left", Verdict::kEither,
       [](Patient& p) {
         const auto in = p.AnyOf(p.Steps([&](StepId id) {
           return p.plan.steps[id].kind == StepKind::kSwapIn;
         }));
         if (!in) return false;
         const std::vector<StepId> outs = p.Steps([&](StepId id) {
           return p.plan.steps[id].outputs == p.plan.steps[*in].inputs;
         });
         MergeBuffers(p.plan, p.plan.steps[*in].outputs[0],
                      p.plan.steps[outs.front()].inputs[0]);
         return true;
       }},
  };
}

std::vector<Damage> AliasDamages() {
  return {
      {"two values of one size in the same bytes", Verdict::kEither,
       [](Patient& p) {
         std::vector<std::pair<BufferId, BufferId>> pairs;
         for (const BufferId a : p.Transients()) {
           for (const BufferId b : p.Transients()) {
             if (a != b && p.plan.buffers[a].bytes == p.plan.buffers[b].bytes &&
                 p.plan.buffers[a].space == p.plan.buffers[b].space) {
               pairs.emplace_back(a, b);
             }
           }
         }
         const auto pair = p.AnyOf(pairs);
         if (pair) MergeBuffers(p.plan, pair->first, pair->second);
         return pair.has_value();
       }},
      {"an alias with bytes of its own", Verdict::kFaulty,
       [](Patient& p) {
         const auto step = p.AnyOf(p.Steps([&](StepId id) {
           const std::string& op = p.NodeOf(id).op;
           return op == "Alias" || op == "Update";
         }));
         if (step) MoveToNewBuffer(p, p.NodeOf(*step).outputs[0]);
         return step.has_value();
       }},
      {"an output in the bytes of an input of another op", Verdict::kFaulty,
       [](Patient& p) {
         const auto step = p.AnyOf(p.Steps([&](StepId id) {
           const Step& step = p.plan.steps[id];
           return p.NodeOf(id).op == "F" && !step.inputs.empty() &&
                  p.plan.buffers[step.inputs[0]].bytes ==
                      p.plan.buffers[step.outputs[0]].bytes;
         }));
         if (!step) return false;
         MergeBuffers(p.plan, p.plan.steps[*step].outputs[0],
                      p.plan.steps[*step].inputs[0]);
         return true;
       }},
  };
}

std::vector<Damage> ResidentDamages() {
  return {
      {"a variable that does not outlive the step", Verdict::kFaulty,
       [](Patient& p) {
         const auto buffer = p.AnyOf(p.Residents());
         if (!buffer) return false;
         p.plan.buffers[*buffer].kind = BufferKind::kTransient;
         p.plan.resident_bytes = 0;
         return true;
       }},
      {"a variable that is called constant", Verdict::kFaulty,
       [](Patient& p) {
         const auto buffer = p.AnyOf(p.Residents());
         if (!buffer) return false;
         p.plan.buffers[*buffer].kind = BufferKind::kConstant;
         return true;
       }},
      {"a variable in another's bytes", Verdict::kFaulty,
       [](Patient& p) {
         const auto from = p.AnyOf(p.Residents());
         if (!from) return false;
         const auto to = p.AnyOf(p.Buffers([&](BufferId id) {
           return id != *from && IsResident(p.plan.buffers[id]);
         }));
         if (!to) return false;
         MergeBuffers(p.plan, *from, *to);
         return true;
       }},
  };
}

std::vector<Damage> ScratchDamages() {
  return {
      {"a value in scratch", Verdict::kFaulty,
       [](Patient& p) {
         const auto scratch = p.AnyOf(p.Buffers([&](BufferId id) {
           return p.plan.buffers[id].kind == BufferKind::kWorkspace;
         }));
         const auto value = p.AnyOf(p.Buffers([&](BufferId id) {
           return p.plan.buffers[id].kind == BufferKind::kTransient &&
                  p.plan.buffers[id].space == Space::kDevice &&
                  !UsesOf(p.plan, id).empty();
         }));
         if (!scratch || !value) return false;
         p.plan.buffers[*scratch].bytes = p.plan.buffers[*value].bytes;
         MergeBuffers(p.plan, *value, *scratch);
         return true;
       }},
      {"one scratch for two steps", Verdict::kEither,
       [](Patient& p) {
         const std::vector<StepId> steps = p.Steps(
             [&](StepId id) { return p.plan.steps[id].workspace.is_valid(); });
         const StepId other(p.Below(p.plan.steps.size()));
         if (steps.empty()) return false;
         p.plan.steps[other].workspace = p.plan.steps[steps[0]].workspace;
         return true;
       }},
      {"two outputs of a node in the same bytes", Verdict::kFaulty,
       [](Patient& p) {
         const auto step = p.AnyOf(p.Steps([&](StepId id) {
           const std::vector<BufferId>& outputs = p.plan.steps[id].outputs;
           return outputs.size() == 2 && p.plan.buffers[outputs[0]].bytes ==
                                             p.plan.buffers[outputs[1]].bytes;
         }));
         if (!step) return false;
         MergeBuffers(p.plan, p.plan.steps[*step].outputs[0],
                      p.plan.steps[*step].outputs[1]);
         return true;
       }},
      {"scratch of another size", Verdict::kFaulty,
       [](Patient& p) {
         const auto step = p.AnyOf(p.Steps(
             [&](StepId id) { return p.plan.steps[id].workspace.is_valid(); }));
         if (!step) return false;
         p.plan.buffers[p.plan.steps[*step].workspace].bytes -= 1;
         return true;
       }},
      {"no scratch", Verdict::kFaulty,
       [](Patient& p) {
         const auto step = p.AnyOf(p.Steps(
             [&](StepId id) { return p.plan.steps[id].workspace.is_valid(); }));
         if (!step) return false;
         p.plan.steps[*step].workspace = {};
         return true;
       }},
      {"scratch on the host", Verdict::kFaulty,
       [](Patient& p) {
         const auto step = p.AnyOf(p.Steps(
             [&](StepId id) { return p.plan.steps[id].workspace.is_valid(); }));
         if (!step) return false;
         p.plan.buffers[p.plan.steps[*step].workspace].space = Space::kHost;
         p.plan.host_bytes = std::max(p.plan.host_bytes, p.plan.device_bytes);
         return true;
       }},
      {"scratch in a value's bytes", Verdict::kFaulty,
       [](Patient& p) {
         const StepId step(p.Below(p.plan.steps.size()));
         const auto value = p.AnyOf(BuffersOf(p.plan.steps[step]));
         if (!value || *value == p.plan.steps[step].workspace) return false;
         p.plan.steps[step].workspace = *value;
         return true;
       }},
  };
}

}  // namespace

std::vector<Damage> ByteDamages() {
  return Joined({PlacementDamages(), ArenaDamages(), BufferDamages(),
                 FetchDamages(), SharingDamages(), AliasDamages(),
                 ResidentDamages(), ScratchDamages()});
}

}  // namespace spillway::testing
