// Gradients that add to their sum in place: where a sum (AddN) has a term that
// is the input gradient of a pointwise convolution, that node reads the sum of
// the other terms as its addend and may write over it. So the term needs no
// memory of its own, and nothing reads it again to add it.
//
//   AddN(a, b, ConvInput(w1, d1), ConvInput(w2, d2))
//   becomes  ConvInput(w2, d2, ConvInput(w1, d1, AddN(a, b)))
//
// A term that is larger in its dy than in itself only joins if it need not wait
// for another term.
//
// The sum of two terms is bitwise the same in float32 on a CPU. Several terms
// are added in another order; with 16 bits there is one rounding less.
#ifndef SPILLWAY_GRAPH_PASSES_ACCUMULATE_GRADIENTS_H_
#define SPILLWAY_GRAPH_PASSES_ACCUMULATE_GRADIENTS_H_

#include "graph/passes/pass.h"

namespace spillway {

void AccumulateGradients(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_ACCUMULATE_GRADIENTS_H_
