#include <cstdint>
#include <string>

#include "base/random.h"
#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/bfloat16_case.h"

namespace spillway::testing {
namespace {

OpCase DropoutCase(const std::string& op, const std::string& name,
                   const Shape& shape, double rate, int64_t seed) {
  const auto reference = [rate, seed](const DoublesList& in) {
    const uint64_t key =
        MixKeys(MixKeys(kCaseSeed, static_cast<uint64_t>(seed)), kCaseStep);
    Doubles y = in[0];
    for (size_t i = 0; i < y.size(); ++i) {
      const uint32_t word = Philox4x32(key, i / 4)[i % 4];
      y[i] = UniformFloat(word) < rate ? 0 : y[i] / (1 - rate);
    }
    return DoublesList{y};
  };
  return {.name = name,
          .op = op,
          .inputs = {{.type = Float32(shape)}},
          .attributes = {{"rate", rate}, {"seed", seed}},
          .outputs = {Float32(shape)},
          .reference = reference,
          .gradients = {0}};
}

}  // namespace

OpCases DropoutCases() {
  return {
      .good =
          {
              DropoutCase("Dropout", "Dropout", {7, 9}, 0.5, 11),
              DropoutCase("Dropout", "DropoutOfNothing", {30}, 0, 1),
              DropoutCase("Dropout", "DropoutLarge", {13, 4999}, 0.25, -3),
              DropoutCase("DropoutGrad", "DropoutGrad", {7, 9}, 0.5, 11),
              InBFloat16(DropoutCase("Dropout", "Dropout", {7, 9}, 0.3, 11)),
              InBFloat16(
                  DropoutCase("Dropout", "DropoutLarge", {13, 4999}, 0.25, -3)),
              InBFloat16(
                  DropoutCase("DropoutGrad", "DropoutGrad", {7, 9}, 0.5, 11)),
          },
      .bad =
          {
              {.name = "DropoutWithoutRate",
               .op = "Dropout",
               .inputs = {Float32({2})},
               .error = "attribute 'rate' is missing"},
              {.name = "DropoutOfEverything",
               .op = "Dropout",
               .inputs = {Float32({2})},
               .attributes = {{"rate", 1}},
               .error = "'rate' must be at least 0 and less than 1; it is 1"},
              {.name = "DropoutWithTextAsSeed",
               .op = "DropoutGrad",
               .inputs = {Float32({2})},
               .attributes = {{"rate", 0.5}, {"seed", "x"}},
               .error = "attribute 'seed' must be an integer"},
          },
  };
}

}  // namespace spillway::testing
