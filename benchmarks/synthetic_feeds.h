// Made-up feeds of a model: what a network trains on when only its speed is
// measured. A pure function of seed and batch number: the same on any machine
// and with any number of threads.
//
// images   truncated normal, mean 127, standard deviation 60
// labels   uniform integers from 0 to classes - 2 (0 where there is one class);
//          the original leaves the last class out
// targets  standard normal, for models that have them
// Source: tf_cnn_benchmarks, its synthetic images.
#ifndef SPILLWAY_BENCHMARKS_SYNTHETIC_FEEDS_H_
#define SPILLWAY_BENCHMARKS_SYNTHETIC_FEEDS_H_

#include <cstdint>
#include <vector>

#include "executor/session.h"
#include "graph/graph.h"
#include "models/zoo.h"

namespace spillway {

class SyntheticFeeds {
 public:
  // `graph` has the feeds of `model`; neither is kept. Holds batch 0.
  SyntheticFeeds(const Graph& graph, const ModelGraph& model, uint64_t seed);

  // Makes this batch of the stream the one that is fed.
  void Generate(int64_t batch);

  // Views of the numbers, borrowed until the next Generate or the end.
  Feeds feeds() const;

 private:
  uint64_t seed_ = 0;
  int64_t num_labels_ = 1;  // different ones
  ValueId images_id_ = {};
  ValueId labels_id_ = {};
  ValueId targets_id_ = {};  // invalid: none
  TensorType images_type_ = {};
  TensorType labels_type_ = {};
  TensorType targets_type_ = {};
  std::vector<float> images_ = {};
  std::vector<int32_t> labels_ = {};
  std::vector<float> targets_ = {};
};

}  // namespace spillway

#endif  // SPILLWAY_BENCHMARKS_SYNTHETIC_FEEDS_H_
