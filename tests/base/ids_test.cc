#include "base/ids.h"

#include <concepts>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace spillway {
namespace {

using FruitId = StrongId<struct FruitTag>;
using StoneId = StrongId<struct StoneTag>;

static_assert(!std::convertible_to<FruitId, StoneId>);
static_assert(!std::convertible_to<int32_t, FruitId>);

TEST(IdsTest, DefaultIdIsInvalidAndOrdersBeforeAllOthers) {
  EXPECT_FALSE(FruitId().is_valid());
  EXPECT_TRUE(FruitId(0).is_valid());
  EXPECT_LT(FruitId(), FruitId(0));
}

TEST(IdsTest, PushBackHandsOutDenseIds) {
  IdMap<FruitId, std::string> names;
  EXPECT_EQ(names.push_back("apple"), FruitId(0));
  EXPECT_EQ(names.push_back("pear"), FruitId(1));
  EXPECT_EQ(names[FruitId(1)], "pear");
}

TEST(IdsTest, ResizeFillsOnlyTheNewItems) {
  IdMap<FruitId, int> weights(2, 7);
  weights.resize(3, 9);
  EXPECT_EQ(std::vector<int>(weights.begin(), weights.end()),
            (std::vector<int>{7, 7, 9}));
}

std::vector<FruitId> Listed(IdRange<FruitId> ids) {
  std::vector<FruitId> listed;
  for (const FruitId id : ids) listed.push_back(id);
  return listed;
}

TEST(IdsTest, AnEmptyMapHasNoIds) {
  EXPECT_TRUE(Listed(IdMap<FruitId, int>().ids()).empty());
}

TEST(IdsTest, IdsComeInTheOrderOfTheItems) {
  IdMap<FruitId, std::string> names;
  const FruitId apple = names.push_back("apple");
  const FruitId pear = names.push_back("pear");
  const FruitId plum = names.push_back("plum");
  EXPECT_EQ(Listed(names.ids()), (std::vector<FruitId>{apple, pear, plum}));
}

TEST(IdsTest, IdsAreOfTheItemsThereWereWhenTheyWereAskedFor) {
  IdMap<FruitId, int> weights(2, 7);
  for (const FruitId id : weights.ids()) weights.push_back(weights[id] + 1);
  EXPECT_EQ(std::vector<int>(weights.begin(), weights.end()),
            (std::vector<int>{7, 7, 8, 8}));
}

}  // namespace
}  // namespace spillway
