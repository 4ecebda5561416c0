#include "benchmarks/synthetic_feeds.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/random.h"

namespace spillway {
namespace {

constexpr double kImageMean = 127;
constexpr double kImageDeviation = 60;

// The stream of random numbers of one feed in one batch.
uint64_t StreamKey(uint64_t seed, std::string_view feed, int64_t batch) {
  return MixKeys(MixKeys(seed, HashName(feed)), static_cast<uint64_t>(batch));
}

void FillImages(uint64_t key, std::span<float> images) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < images.size(); ++i) {
    images[i] = static_cast<float>(kImageMean +
                                   kImageDeviation * TruncatedNormalAt(key, i));
  }
}

void FillLabels(uint64_t key, int64_t num_labels, std::span<int32_t> labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    const double uniform = UniformFloat(Philox4x32(key, i)[0]);
    labels[i] = static_cast<int32_t>(uniform * static_cast<double>(num_labels));
  }
}

void FillTargets(uint64_t key, std::span<float> targets) {
  for (size_t i = 0; i < targets.size(); ++i) {
    targets[i] = static_cast<float>(NormalAt(key, i));
  }
}

}  // namespace

SyntheticFeeds::SyntheticFeeds(const Graph& graph, const ModelGraph& model,
                               uint64_t seed)
    : seed_(seed),
      num_labels_(std::max<int64_t>(1, model.options.num_classes - 1)),
      images_id_(model.images.id()),
      labels_id_(model.labels.id()),
      images_type_(graph.type(images_id_)),
      labels_type_(graph.type(labels_id_)),
      images_(static_cast<size_t>(images_type_.num_elements())),
      labels_(static_cast<size_t>(labels_type_.num_elements())) {
  if (model.targets.is_valid()) {
    targets_id_ = model.targets.id();
    targets_type_ = graph.type(targets_id_);
    targets_.resize(static_cast<size_t>(targets_type_.num_elements()));
  }
  Generate(0);
}

void SyntheticFeeds::Generate(int64_t batch) {
  FillImages(StreamKey(seed_, "images", batch), images_);
  FillLabels(StreamKey(seed_, "labels", batch), num_labels_, labels_);
  FillTargets(StreamKey(seed_, "targets", batch), targets_);
}

Feeds SyntheticFeeds::feeds() const {
  Feeds feeds = {{images_id_, {.type = images_type_, .data = images_.data()}},
                 {labels_id_, {.type = labels_type_, .data = labels_.data()}}};
  if (targets_id_.is_valid()) {
    feeds[targets_id_] = {.type = targets_type_, .data = targets_.data()};
  }
  return feeds;
}

}  // namespace spillway
