// A network of two dense layers on the images of Quarters: no row depends on
// another one.
#ifndef SPILLWAY_TESTS_TRAINING_LOOP_PERCEPTRON_H_
#define SPILLWAY_TESTS_TRAINING_LOOP_PERCEPTRON_H_

#include <cstdint>

#include "models/layers/layers.h"
#include "tests/training/lenet_run.h"
#include "training/loop/training_programs.h"

namespace spillway::testing {

inline ForwardPhase AddPerceptron(GraphBuilder& g, int64_t rows,
                                  int64_t hidden) {
  ForwardPhase phase;
  phase.images = g.Placeholder("images", DType::kFloat32,
                               {rows, kImageSize, kImageSize, 1});
  phase.labels = g.Placeholder("labels", DType::kInt32, {rows});
  const Tensor x =
      Dense(g.Scope("hidden"), Flatten(g.Scope("flat"), phase.images),
            {.units = hidden, .activation = Activation::kTanh});
  const Tensor logits = Dense(g.Scope("logits"), x, {.units = kNumClasses});
  phase.loss = SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, phase.labels);
  return phase;
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TRAINING_LOOP_PERCEPTRON_H_
