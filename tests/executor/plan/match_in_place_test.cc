#include "executor/plan/match_in_place.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using Pairs = std::vector<BufferPair>;
using Bytes = std::vector<int64_t>;

// As FusedBatchNormGrad: dy, x -> dx, dscale, doffset, dside.
TEST(MatchInPlaceTest, AnOutputLeavesAnInputToTheOneThatNeedsIt) {
  const Pairs pairs = {{0, 0}, {1, 0}, {0, 3}};
  EXPECT_THAT(MatchInPlace(pairs, Bytes{98, 1, 1, 98}, true),
              ElementsAre(1, -1, -1, 0));
  EXPECT_THAT(MatchInPlace(pairs, Bytes{98, 1, 1, 98}, false),
              ElementsAre(0, -1, -1, -1));
}

TEST(MatchInPlaceTest, TiesGoToTheLowerOutputAndTheEarlierPair) {
  EXPECT_THAT(MatchInPlace(Pairs{{2, 0}, {1, 0}}, Bytes{8}, true),
              ElementsAre(2));
  EXPECT_THAT(MatchInPlace(Pairs{{0, 1}, {0, 0}}, Bytes{8, 8}, true),
              ElementsAre(0, -1));
  EXPECT_THAT(MatchInPlace(Pairs{{0, 0}, {0, 1}}, Bytes{8, 9}, true),
              ElementsAre(-1, 0));
  EXPECT_THAT(MatchInPlace(Pairs{}, Bytes{8, 9}, true), ElementsAre(-1, -1));
}

// The most bytes over all choices, one output after the other.
int64_t MostBytes(const Pairs& pairs, const Bytes& bytes, size_t output,
                  std::set<int>& taken, bool together) {
  if (output == bytes.size()) return 0;
  int64_t most = MostBytes(pairs, bytes, output + 1, taken, together);
  for (const BufferPair& pair : pairs) {
    if (pair.output != static_cast<int>(output)) continue;
    if (!together && !taken.empty()) continue;
    if (!taken.insert(pair.input).second) continue;
    most = std::max(most, bytes[output] + MostBytes(pairs, bytes, output + 1,
                                                    taken, together));
    taken.erase(pair.input);
  }
  return most;
}

TEST(MatchInPlaceTest, RandomCasesHaveTheMostBytesOfAllChoices) {
  for (uint64_t seed = 0; seed < 2000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Bytes bytes(1 + random() % 5);
    for (int64_t& size : bytes) size = static_cast<int64_t>(random() % 6);
    Pairs pairs(random() % 9);
    for (BufferPair& pair : pairs) {
      pair.input = static_cast<int>(random() % 5);
      pair.output = static_cast<int>(random() % bytes.size());
    }
    const bool together = random() % 4 != 0;
    const std::vector<int> chosen = MatchInPlace(pairs, bytes, together);
    ASSERT_EQ(chosen.size(), bytes.size());
    int64_t sum = 0;
    std::set<int> inputs;
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] < 0) continue;
      sum += bytes[i];
      EXPECT_TRUE(inputs.insert(chosen[i]).second);
      EXPECT_TRUE(std::ranges::any_of(pairs, [&](const BufferPair& pair) {
        return pair.input == chosen[i] && pair.output == static_cast<int>(i);
      }));
    }
    EXPECT_LE(inputs.size(), together ? bytes.size() : 1);
    std::set<int> taken;
    EXPECT_EQ(sum, MostBytes(pairs, bytes, 0, taken, together));
  }
}

}  // namespace
}  // namespace spillway
