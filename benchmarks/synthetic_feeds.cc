#include "benchmarks/synthetic_feeds.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

#include "base/random.h"
#include "fmt/format.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

constexpr double kImageMean = 127;
constexpr double kImageDeviation = 60;
constexpr int64_t kLeastReals = 4096;  // that are worth a separate thread

// The stream of random numbers of one feed in one batch.
uint64_t StreamKey(uint64_t seed, std::string_view feed, int64_t batch) {
  return MixKeys(MixKeys(seed, HashName(feed)), static_cast<uint64_t>(batch));
}

float ImageAt(uint64_t key, size_t index, double scale) {
  return static_cast<float>(
      scale * (kImageMean + kImageDeviation * TruncatedNormalAt(key, index)));
}

float NormalOf(uint64_t key, size_t index, double scale) {
  return static_cast<float>(scale * NormalAt(key, index));
}

void FillLabels(uint64_t key, int64_t num_labels, std::span<int32_t> labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    const double uniform = UniformFloat(Philox4x32(key, i)[0]);
    labels[i] = static_cast<int32_t>(uniform * static_cast<double>(num_labels));
  }
}

template <typename T>
void FillIntegers(uint64_t key, int64_t below, std::span<T> integers) {
  for (size_t i = 0; i < integers.size(); ++i) {
    integers[i] =
        static_cast<T>(Philox4x32(key, i)[0] % static_cast<uint64_t>(below));
  }
}

// Ops whose output has elements of their input, in any order or type.
bool MovesElements(std::string_view op) {
  return op == "Cast" || op == "Identity" || op == "Reshape" || op == "Slice" ||
         op == "Transpose" || CopiesToHost(op) || CopiesToDevice(op);
}

// Of the smallest table whose rows `id` numbers; 2 if it numbers none.
int64_t IndexedRows(const Graph& graph, ValueId id) {
  std::optional<int64_t> rows;
  std::vector<ValueId> indices = {id};
  while (!indices.empty()) {
    const ValueId index = indices.back();
    indices.pop_back();
    for (const Use& use : graph.uses(index)) {
      const Node& node = graph.node(use.node);
      if (MovesElements(node.op)) indices.push_back(node.outputs[0]);
      if (node.op != "Gather" || node.inputs[1] != index) continue;
      const Shape& table = graph.type(node.inputs[0]).shape;
      const auto axis =
          static_cast<int>(node.attributes.GetInt("axis", 0).value_or(0));
      rows = std::min(rows.value_or(table.dim(axis)), table.dim(axis));
    }
  }
  return rows.value_or(2);
}

int64_t ClassesOf(const ModelGraph& model) {
  if (model.options.num_classes > 0) return model.options.num_classes;
  // A user's own model: as its logits have them, and one more for the class
  // that is left out.
  return model.logits.is_valid() ? model.logits.shape().dim(-1) + 1 : 1;
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
    : threads_(std::make_unique<HostThreads>(
          std::max<int>(1, std::thread::hardware_concurrency()))),
      seed_(seed),
      pixel_scale_(model.pixel_scale),
      num_labels_(std::max<int64_t>(1, ClassesOf(model) - 1)),
      labels_(MakeNumbers<int32_t>(graph, model.labels.id(), session)),
      targets_(MakeNumbers<float>(graph, model.targets.id(), session)) {
  if (model.has_pixels) {
    images_ = MakeNumbers<float>(graph, model.images.id(), session);
  } else {
    AddInput(graph, model.images, session);
  }
  for (const Tensor input : model.more_inputs) {
    AddInput(graph, input, session);
  }
  Generate(0);
}

void SyntheticFeeds::AddInput(const Graph& graph, Tensor input,
                              Session* session) {
  if (!input.is_valid()) return;
  switch (graph.type(input.id()).dtype) {
    case DType::kInt32:
      integers_.push_back(MakeNumbers<int32_t>(graph, input.id(), session));
      integers_.back().below = IndexedRows(graph, input.id());
      break;
    case DType::kInt64:
      long_integers_.push_back(
          MakeNumbers<int64_t>(graph, input.id(), session));
      long_integers_.back().below = IndexedRows(graph, input.id());
      break;
    case DType::kUInt8:
    case DType::kBool:
      bytes_.push_back(MakeNumbers<uint8_t>(graph, input.id(), session));
      break;
    default:
      reals_.push_back(MakeNumbers<float>(graph, input.id(), session));
  }
}

void SyntheticFeeds::FillReals(uint64_t key, Fill fill, double scale,
                               std::span<float> reals) {
  threads_->Run(static_cast<int64_t>(reals.size()),
                {.least_items = kLeastReals}, [=](int64_t begin, int64_t end) {
                  for (auto i = static_cast<size_t>(begin);
                       i < static_cast<size_t>(end); ++i) {
                    reals[i] = fill(key, i, scale);
                  }
                });
}

void SyntheticFeeds::Generate(int64_t batch) {
  FillReals(StreamKey(seed_, "images", batch), ImageAt, pixel_scale_,
            images_.values);
  FillLabels(StreamKey(seed_, "labels", batch), num_labels_, labels_.values);
  FillReals(StreamKey(seed_, "targets", batch), NormalOf, 1, targets_.values);
  for (size_t i = 0; i < reals_.size(); ++i) {
    FillReals(StreamKey(seed_, fmt::format("reals {}", i), batch), NormalOf, 1,
              reals_[i].values);
  }
  for (size_t i = 0; i < integers_.size(); ++i) {
    FillIntegers(StreamKey(seed_, fmt::format("integers {}", i), batch),
                 integers_[i].below, integers_[i].values);
  }
  for (size_t i = 0; i < long_integers_.size(); ++i) {
    FillIntegers(StreamKey(seed_, fmt::format("long integers {}", i), batch),
                 long_integers_[i].below, long_integers_[i].values);
  }
  for (size_t i = 0; i < bytes_.size(); ++i) {
    FillIntegers(StreamKey(seed_, fmt::format("bytes {}", i), batch),
                 bytes_[i].below, bytes_[i].values);
  }
}

Feeds SyntheticFeeds::feeds() const {
  Feeds feeds;
  AddTo(feeds, images_);
  AddTo(feeds, labels_);
  AddTo(feeds, targets_);
  for (const auto& numbers : reals_) AddTo(feeds, numbers);
  for (const auto& numbers : integers_) AddTo(feeds, numbers);
  for (const auto& numbers : long_integers_) AddTo(feeds, numbers);
  for (const auto& numbers : bytes_) AddTo(feeds, numbers);
  return feeds;
}

}  // namespace spillway
