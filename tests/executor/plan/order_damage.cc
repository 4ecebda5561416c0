// Damage to a plan's steps and to their waits.
#include <algorithm>
#include <utility>

#include "tests/executor/plan/naive_plan.h"
#include "tests/executor/plan/plan_cases.h"
#include "tests/executor/plan/plan_damage.h"

namespace spillway::testing {
namespace {

// A step and the step that it waits for.
std::vector<StepPair> Waits(const Patient& patient) {
  std::vector<StepPair> waits;
  for (const StepId id : patient.Steps()) {
    for (const StepId wait : patient.plan.steps[id].waits) {
      waits.emplace_back(id, wait);
    }
  }
  return waits;
}

bool Reads(const Patient& patient, StepId reader, StepId producer) {
  const std::vector<ValueId>& inputs = patient.NodeOf(reader).inputs;
  return std::ranges::any_of(inputs, [&](ValueId input) {
    return patient.graph.value(input).producer ==
           patient.plan.steps[producer].node;
  });
}

bool HasControlEdge(const Patient& patient, StepId from, StepId to) {
  return std::ranges::count(patient.NodeOf(to).control_inputs,
                            patient.plan.steps[from].node) > 0;
}

// Drops a wait for which `fits(step, wait)`; every wait of a plan is necessary
// (place_waits_test.cc).
bool DropWait(Patient& patient,
              const std::function<bool(StepId, StepId)>& fits) {
  std::vector<StepPair> waits = Waits(patient);
  std::erase_if(waits, [&](const StepPair& wait) {
    return !fits(wait.first, wait.second);
  });
  const auto dropped = patient.AnyOf(waits);
  if (!dropped) return false;
  std::erase(patient.plan.steps[dropped->first].waits, dropped->second);
  return true;
}

bool DropReuseWait(Patient& patient, StepKind kind, StepKind waits_for) {
  return DropWait(patient, [&](StepId step, StepId wait) {
    return patient.plan.steps[step].kind == kind &&
           patient.plan.steps[wait].kind == waits_for &&
           !Reads(patient, step, wait) && !HasControlEdge(patient, wait, step);
  });
}

std::vector<Damage> WaitDamages() {
  return {
      {"no wait for a value", Verdict::kFaulty,
       [](Patient& p) {
         return DropWait(
             p, [&](StepId step, StepId wait) { return Reads(p, step, wait); });
       }},
      {"no wait for a control edge", Verdict::kFaulty,
       [](Patient& p) {
         return DropWait(p, [&](StepId step, StepId wait) {
           return HasControlEdge(p, wait, step) && !Reads(p, step, wait);
         });
       }},
      {"no wait for bytes that a copy-out reads", Verdict::kFaulty,
       [](Patient& p) {
         return DropReuseWait(p, StepKind::kCompute, StepKind::kSwapOut);
       }},
      {"no wait for host bytes that a copy-in reads", Verdict::kFaulty,
       [](Patient& p) {
         return DropReuseWait(p, StepKind::kSwapOut, StepKind::kSwapIn);
       }},
      {"no wait for reused bytes", Verdict::kFaulty,
       [](Patient& p) {
         return DropWait(p, [&](StepId step, StepId wait) {
           return !Reads(p, step, wait) && !HasControlEdge(p, wait, step);
         });
       }},
      {"no wait at all", Verdict::kFaulty,
       [](Patient& p) {
         const auto step = p.AnyOf(p.Steps(
             [&](StepId id) { return !p.plan.steps[id].waits.empty(); }));
         if (step) p.plan.steps[*step].waits.clear();
         return step.has_value();
       }},
  };
}

std::vector<Damage> ExtraWaitDamages() {
  return {
      {"waits for itself or a later step", Verdict::kFaulty,
       [](Patient& p) {
         const StepId step(p.Below(p.plan.steps.size()));
         const auto later =
             p.AnyOf(p.Steps([&](StepId id) { return id >= step; }));
         p.plan.steps[step].waits.push_back(*later);
         return true;
       }},
      {"waits for no step", Verdict::kFaulty,
       [](Patient& p) {
         const StepId step(p.Below(p.plan.steps.size()));
         p.plan.steps[step].waits.push_back(StepId());
         return true;
       }},
      {"waits for one more", Verdict::kValid,
       [](Patient& p) {
         const StepId step(p.Below(p.plan.steps.size()));
         const auto earlier =
             p.AnyOf(p.Steps([&](StepId id) { return id < step; }));
         if (earlier) p.plan.steps[step].waits.push_back(*earlier);
         return earlier.has_value();
       }},
      {"of another kind", Verdict::kFaulty,
       [](Patient& p) {
         const auto step = p.AnyOf(p.Steps());
         if (!step) return false;
         StepKind& kind = p.plan.steps[*step].kind;
         constexpr uint64_t kKinds = 5;
         kind = static_cast<StepKind>(
             (static_cast<uint64_t>(kind) + 1 + p.Below(kKinds - 1)) % kKinds);
         return true;
       }},
      {"another feed", Verdict::kFaulty,
       [](Patient& p) {
         const auto fed = p.AnyOf(p.Steps([&](StepId id) {
           return p.plan.steps[id].kind == StepKind::kFeed;
         }));
         if (!fed) return false;
         ValueId& feed = p.plan.steps[*fed].feed;
         const size_t values = p.graph.num_values();
         feed = ValueId((feed.index() + 1 + p.Below(values)) % (values + 1));
         return true;
       }},
      {"on another lane", Verdict::kEither,
       [](Patient& p) {
         const StepId step(p.Below(p.plan.steps.size()));
         p.plan.steps[step].lane = static_cast<Lane>(p.Below(kNumLanes));
         return true;
       }},
  };
}

std::vector<Damage> StepDamages() {
  return {
      {"a reader before the producer", Verdict::kFaulty,
       [](Patient& p) {
         const auto pair = p.AnyOf(EdgePairs(p.plan, p.graph));
         if (!pair) return false;
         std::swap(p.plan.steps[pair->first], p.plan.steps[pair->second]);
         return true;
       }},
      {"an update before the variable's reader", Verdict::kFaulty,
       [](Patient& p) {
         std::vector<StepPair> pairs = EdgePairs(p.plan, p.graph);
         std::erase_if(pairs, [&](const StepPair& pair) {
           return p.NodeOf(pair.second).op != "Update" ||
                  !std::ranges::count(p.plan.steps[pair.first].inputs,
                                      p.plan.steps[pair.second].inputs[0]);
         });
         const auto pair = p.AnyOf(pairs);
         if (!pair) return false;
         std::swap(p.plan.steps[pair->first], p.plan.steps[pair->second]);
         return true;
       }},
      {"neighbours change places", Verdict::kEither,
       [](Patient& p) {
         if (p.plan.steps.size() < 2) return false;
         const size_t first = p.Below(p.plan.steps.size() - 1);
         std::swap(p.plan.steps[StepId(first)],
                   p.plan.steps[StepId(first + 1)]);
         return true;
       }},
  };
}

std::vector<Damage> MissingStepDamages() {
  return {
      {"a node twice", Verdict::kFaulty,
       [](Patient& p) {
         if (p.plan.steps.size() < 2) return false;
         const size_t twice = p.Below(p.plan.steps.size());
         const size_t lost = (twice + 1 + p.Below(p.plan.steps.size() - 1)) %
                             p.plan.steps.size();
         p.plan.steps[StepId(lost)] = p.plan.steps[StepId(twice)];
         return true;
       }},
      {"a needed node missing", Verdict::kFaulty,
       [](Patient& p) {
         const auto pair = p.AnyOf(EdgePairs(p.plan, p.graph));
         if (pair) RemoveStep(p.plan, pair->first);
         return pair.has_value();
       }},
      {"a fetched node missing", Verdict::kFaulty,
       [](Patient& p) {
         const auto step = p.AnyOf(p.Steps([&](StepId id) {
           return std::ranges::any_of(p.plan.fetches, [&](ValueId value) {
             return p.graph.value(value).producer == p.plan.steps[id].node;
           });
         }));
         if (step) RemoveStep(p.plan, *step);
         return step.has_value();
       }},
      {"any node missing", Verdict::kEither,
       [](Patient& p) {
         RemoveStep(p.plan, StepId(p.Below(p.plan.steps.size())));
         return true;
       }},
  };
}

}  // namespace

std::vector<Damage> OrderDamages() {
  return Joined(
      {WaitDamages(), ExtraWaitDamages(), StepDamages(), MissingStepDamages()});
}

}  // namespace spillway::testing
