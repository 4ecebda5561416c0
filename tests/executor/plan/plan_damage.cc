#include "tests/executor/plan/plan_damage.h"

namespace spillway::testing {

std::vector<Damage> Joined(const std::vector<std::vector<Damage>>& parts) {
  std::vector<Damage> all;
  for (const std::vector<Damage>& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<Damage> Damages() {
  return Joined({OrderDamages(), ByteDamages()});
}

}  // namespace spillway::testing
