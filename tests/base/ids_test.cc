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

}  // namespace
}  // namespace spillway
