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
#include <span>
#include <vector>

#include "executor/session/session.h"
#include "graph/graph.h"
#include "models/zoo.h"

namespace spillway {

class SyntheticFeeds {
 public:
  // `graph` has the feeds of `model`; neither is kept. Holds batch 0. Where
  // `session` has memory to make the feeds of its program 0 in, they are made
  // there; it then outlives this. Null: they are always in memory of their own.
  SyntheticFeeds(const Graph& graph, const ModelGraph& model, uint64_t seed,
                 Session* session = nullptr);
  SyntheticFeeds(SyntheticFeeds&&) = default;
  SyntheticFeeds& operator=(SyntheticFeeds&&) = default;

  // Makes this batch of the stream the one that is fed.
  void Generate(int64_t batch);

  // Views of the numbers, borrowed until the next Generate or the end.
  Feeds feeds() const;

 private:
  template <typename T>
  struct Numbers {
    ValueId id = {};  // invalid: the model has no such feed
    TensorType type = {};
    std::vector<T> own = {};  // empty where `values` are the session's
    std::span<T> values = {};
  };

  template <typename T>
  static Numbers<T> MakeNumbers(const Graph& graph, ValueId id,
                                Session* session);
  template <typename T>
  static void AddTo(Feeds& feeds, const Numbers<T>& numbers);

  uint64_t seed_ = 0;
  int64_t num_labels_ = 1;  // different ones
  Numbers<float> images_ = {};
  Numbers<int32_t> labels_ = {};
  Numbers<float> targets_ = {};
};

}  // namespace spillway

#endif  // SPILLWAY_BENCHMARKS_SYNTHETIC_FEEDS_H_
