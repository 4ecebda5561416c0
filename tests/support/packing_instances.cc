#include "tests/support/packing_instances.h"

#include <algorithm>
#include <random>
#include <tuple>
#include <utility>

namespace spillway::testing {
namespace {

// The standard's distributions differ between libraries; this one does not.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // Nearly uniform over [first, last].
  int64_t Between(int64_t first, int64_t last) {
    const auto range = static_cast<uint64_t>(last - first) + 1;
    return first + static_cast<int64_t>(engine_() % range);
  }
  bool Happens(double probability) {
    constexpr int64_t kParts = 1'000'000;
    return static_cast<double>(Between(0, kParts - 1)) < probability * kParts;
  }

 private:
  std::mt19937_64 engine_;
};

// Feature maps shrink along the chain; gradients of weights do not.
int64_t LayerBytes(size_t layer, size_t num_layers, Random& random) {
  const int64_t stage = static_cast<int64_t>(4 * layer / num_layers);
  return random.Between(1, 4) * (int64_t{64'000} >> stage);
}

// A layer's places in the schedule: one forward and one backward step.
struct LayerSteps {
  int64_t forward = 0;
  int64_t backward = 0;
};

LayerSteps StepsOf(size_t layer, size_t num_layers) {
  const auto forward = static_cast<int64_t>(layer);
  return {forward, 2 * static_cast<int64_t>(num_layers) - 1 - forward};
}

struct Rectangle {
  Interval steps = {};
  Interval bytes = {};
};

bool CanCut(const Interval& interval) { return interval.length() >= 2; }

std::pair<Interval, Interval> Cut(const Interval& interval, Random& random) {
  const int64_t at = random.Between(interval.begin + 1, interval.end - 1);
  return {{interval.begin, at}, {at, interval.end}};
}

// Cuts `whole` in two and returns the second part.
Rectangle CutOff(Rectangle& whole, Random& random) {
  Rectangle part = whole;
  const bool along_steps =
      !CanCut(whole.bytes) || (CanCut(whole.steps) && random.Happens(0.5));
  if (along_steps) {
    std::tie(whole.steps, part.steps) = Cut(whole.steps, random);
  } else {
    std::tie(whole.bytes, part.bytes) = Cut(whole.bytes, random);
  }
  return part;
}

}  // namespace

std::vector<PackingItem> ChainItems(uint64_t seed, size_t size) {
  Random random(seed);
  const size_t num_layers = std::max<size_t>(1, size / 2);
  std::vector<PackingItem> items;
  for (size_t layer = 0; layer < num_layers; ++layer) {
    const auto [forward, backward] = StepsOf(layer, num_layers);
    items.push_back({.lifetime = {forward, backward + 1},
                     .bytes = LayerBytes(layer, num_layers, random)});
    const int64_t begin = random.Happens(0.5) ? forward : backward;
    items.push_back({.lifetime = {begin, begin + random.Between(1, 3)},
                     .bytes = LayerBytes(layer, num_layers, random)});
  }
  return items;
}

std::vector<PackingItem> SwappedChainItems(uint64_t seed, size_t size) {
  Random random(seed);
  const size_t num_layers = std::max<size_t>(1, size / 3);
  std::vector<PackingItem> items;
  for (size_t layer = 0; layer < num_layers; ++layer) {
    const auto [forward, backward] = StepsOf(layer, num_layers);
    const int64_t kept = LayerBytes(layer, num_layers, random);
    items.push_back(
        {.lifetime = {forward, forward + random.Between(2, 6)}, .bytes = kept});
    items.push_back(
        {.lifetime = {backward - random.Between(1, 5), backward + 1},
         .bytes = kept});
    const int64_t begin = random.Happens(0.5) ? forward : backward;
    items.push_back({.lifetime = {begin, begin + random.Between(1, 3)},
                     .bytes = LayerBytes(layer, num_layers, random)});
  }
  return items;
}

std::vector<PackingItem> RandomItems(const RandomItemsOptions& options) {
  Random random(options.seed);
  std::vector<PackingItem> items(options.size);
  for (PackingItem& item : items) {
    const int64_t length = random.Between(1, options.max_length);
    const int64_t begin = random.Between(0, options.steps - length);
    item.lifetime = {begin, begin + length};
    item.bytes = random.Between(1, options.max_bytes);
    if (length >= 3 && random.Happens(options.gap_probability)) {
      const int64_t gap = random.Between(begin + 1, begin + length - 2);
      item.gaps = {{gap, random.Between(gap + 1, begin + length - 1)}};
    }
  }
  return items;
}

std::vector<PackingItem> GuillotineItems(const GuillotineOptions& options) {
  Random random(options.seed);
  std::vector<Rectangle> rectangles = {
      {.steps = {0, options.steps}, .bytes = {0, options.bytes}}};
  // Stops if the remaining rectangles are too small to be cut.
  for (size_t attempt = 0;
       rectangles.size() < options.size && attempt < 100 * options.size;
       ++attempt) {
    const auto chosen = static_cast<size_t>(
        random.Between(0, static_cast<int64_t>(rectangles.size()) - 1));
    Rectangle& rectangle = rectangles[chosen];
    if (!CanCut(rectangle.steps) && !CanCut(rectangle.bytes)) continue;
    const Rectangle part = CutOff(rectangle, random);
    rectangles.push_back(part);
  }
  std::vector<PackingItem> items;
  while (!rectangles.empty()) {
    const auto chosen = static_cast<size_t>(
        random.Between(0, static_cast<int64_t>(rectangles.size()) - 1));
    std::swap(rectangles[chosen], rectangles.back());
    items.push_back({.lifetime = rectangles.back().steps,
                     .bytes = rectangles.back().bytes.length()});
    rectangles.pop_back();
  }
  return items;
}

}  // namespace spillway::testing
