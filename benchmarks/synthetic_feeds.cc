#include "benchmarks/synthetic_feeds.h"

#include <algorithm>
#include <cstddef>
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

void FillImages(uint64_t key, double scale, std::span<float> images) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < images.size(); ++i) {
    images[i] = static_cast<float>(
        scale * (kImageMean + kImageDeviation * TruncatedNormalAt(key, i)));
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

template <typename T>
SyntheticFeeds::Numbers<T> SyntheticFeeds::MakeNumbers(const Graph& graph,
                                                       ValueId id,
                                                       Session* session) {
  if (!id.is_valid()) return {};
  Numbers<T> numbers = {.id = id, .type = graph.type(id)};
  const auto size = static_cast<size_t>(numbers.type.num_elements());
  std::byte* buffer =
      session == nullptr ? nullptr : session->FeedBuffer(/*program=*/0, id);
  if (buffer == nullptr) {
    numbers.own.resize(size);
    numbers.values = numbers.own;
  } else {
    numbers.values = {reinterpret_cast<T*>(buffer), size};
  }
  return numbers;
}

template <typename T>
void SyntheticFeeds::AddTo(Feeds& feeds, const Numbers<T>& numbers) {
  if (!numbers.id.is_valid()) return;
  feeds[numbers.id] =
      TensorView{.type = numbers.type, .data = numbers.values.data()};
}

SyntheticFeeds::SyntheticFeeds(const Graph& graph, const ModelGraph& model,
                               uint64_t seed, Session* session)
    : seed_(seed),
      pixel_scale_(model.pixel_scale),
      num_labels_(std::max<int64_t>(1, model.options.num_classes - 1)),
      images_(MakeNumbers<float>(graph, model.images.id(), session)),
      labels_(MakeNumbers<int32_t>(graph, model.labels.id(), session)),
      targets_(MakeNumbers<float>(graph, model.targets.id(), session)) {
  Generate(0);
}

void SyntheticFeeds::Generate(int64_t batch) {
  FillImages(StreamKey(seed_, "images", batch), pixel_scale_, images_.values);
  FillLabels(StreamKey(seed_, "labels", batch), num_labels_, labels_.values);
  FillTargets(StreamKey(seed_, "targets", batch), targets_.values);
}

Feeds SyntheticFeeds::feeds() const {
  Feeds feeds;
  AddTo(feeds, images_);
  AddTo(feeds, labels_);
  AddTo(feeds, targets_);
  return feeds;
}

}  // namespace spillway
