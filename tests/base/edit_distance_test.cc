#include "base/edit_distance.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace spillway {
namespace {

// The definition: the best of three ways to make the last letters equal.
size_t Naive(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return std::max(a.size(), b.size());
  const std::string_view a_less = a.substr(0, a.size() - 1);
  const std::string_view b_less = b.substr(0, b.size() - 1);
  if (a.back() == b.back()) return Naive(a_less, b_less);
  return 1 +
         std::min({Naive(a_less, b), Naive(a, b_less), Naive(a_less, b_less)});
}

TEST(EditDistanceTest, KnownDistances) {
  EXPECT_EQ(EditDistance("", ""), 0U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("abc", ""), 3U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("saturday", "sunday"), 3U);
}

TEST(NameMeantByTest, IsTheNearestNameThatIsNear) {
  const std::vector<std::string> names = {"--budget", "--batch_size",
                                          "--batch_norm"};
  EXPECT_EQ(NameMeantBy("--bugdet", names), "--budget");
  EXPECT_EQ(NameMeantBy("--batchsize", names), "--batch_size");
  EXPECT_EQ(NameMeantBy("--batch_nize", {"--batch_size", "--batch_norm"}),
            "--batch_size");
  EXPECT_EQ(NameMeantBy("--frobnicate", names), "");
  EXPECT_EQ(NameMeantBy("x", {"y"}), "");
  EXPECT_EQ(NameMeantBy("word", {}), "");
}

TEST(EditDistanceTest, AgreesWithItsDefinitionOnAllShortWords) {
  std::vector<std::string> words = {""};
  for (size_t i = 0; words[i].size() < 4; ++i) {
    for (const char* letter : {"a", "b", "c"}) {
      words.push_back(words[i] + letter);
    }
  }
  for (const std::string& a : words) {
    for (const std::string& b : words) {
      EXPECT_EQ(EditDistance(a, b), Naive(a, b)) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace spillway
