// Synthetic feeds of a model, for measuring only a network's speed. A pure
// function of seed and batch number: the same on every machine and for every
// number of threads.
//
// images   truncated normal, mean 127, standard deviation 60, times the
//          model's pixel_scale
// labels   uniform integers from 0 to classes - 2 (0 for a single class); the
//          original leaves out the last class
// targets  standard normal, for models that have them
//
// tokens, and inputs of users' own models: standard normal, or integers, below
//          the rows of the table that they index (Gather), else 0 or 1
//
// Source: tf_cnn_benchmarks, its synthetic images.
#ifndef SPILLWAY_BENCHMARKS_SYNTHETIC_FEEDS_H_
#define SPILLWAY_BENCHMARKS_SYNTHETIC_FEEDS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "executor/host_threads.h"
#include "executor/session/session.h"
#include "graph/graph.h"
#include "models/zoo.h"

namespace spillway {

class SyntheticFeeds {
 public:
  // `graph` has the feeds of `model`; neither is kept. Holds batch 0. If
  // `session` offers memory for the feeds of its program 0, the feeds are made
  // there; the session must then outlive this. Null: the feeds always have
  // their own memory.
  SyntheticFeeds(const Graph& graph, const ModelGraph& model, uint64_t seed,
                 Session* session = nullptr);
  SyntheticFeeds(SyntheticFeeds&&) = default;
  SyntheticFeeds& operator=(SyntheticFeeds&&) = default;

  // Makes this batch the one that feeds() returns.
  void Generate(int64_t batch);

  // Views of the numbers, borrowed until the next Generate or destruction.
  Feeds feeds() const;

 private:
  template <typename T>
  struct Numbers {
    ValueId id = {};  // invalid: the model has no such feed
    TensorType type = {};
    std::vector<T> own = {};  // empty if `values` are the session's
    std::span<T> values = {};
    int64_t below = 2;  // of an input of integers
  };

  template <typename T>
  static Numbers<T> MakeNumbers(const Graph& graph, ValueId id,
                                Session* session);
  template <typename T>
  static void AddTo(Feeds& feeds, const Numbers<T>& numbers);
  // The input of a user's own model, of any type.
  void AddInput(const Graph& graph, Tensor input, Session* session);

  // Of normal numbers.
  using Fill = float (*)(uint64_t key, size_t index, double scale);
  void FillReals(uint64_t key, Fill fill, double scale, std::span<float> reals);

  // Not OpenMP's: while a second thread has OpenMP threads of its own, those of
  // the kernels sleep whenever they wait (GCC's library: more threads than
  // cores), and each parallel kernel has to wake them.
  std::unique_ptr<HostThreads> threads_;
  uint64_t seed_ = 0;
  double pixel_scale_ = 1;
  int64_t num_labels_ = 1;      // distinct labels
  Numbers<float> images_ = {};  // pixels
  Numbers<int32_t> labels_ = {};
  Numbers<float> targets_ = {};
  std::vector<Numbers<float>> reals_ = {};
  std::vector<Numbers<int32_t>> integers_ = {};
  std::vector<Numbers<int64_t>> long_integers_ = {};
  std::vector<Numbers<uint8_t>> bytes_ = {};
};

}  // namespace spillway

#endif  // SPILLWAY_BENCHMARKS_SYNTHETIC_FEEDS_H_
