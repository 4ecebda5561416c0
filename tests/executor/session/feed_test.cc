#include "executor/session/feed.h"

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeHostTensor;
using testing::StatusIs;

using testing::kInvalid;
const TensorType kFloats = {DType::kFloat32, {2, 3}};
const TensorType kOneInt = {DType::kInt32, {}};

TEST(FeedTest, TakesEveryContiguousFormOfElements) {
  std::vector<float> vector(6, 1.5F);
  const std::array<float, 6> array = {};
  const float plain[6] = {};
  const HostTensor host = MakeHostTensor(kFloats, vector);
  const std::vector<std::pair<Feed, const void*>> feeds = {
      {vector, vector.data()},
      {std::span(vector), vector.data()},
      {std::span<const float>(vector), vector.data()},
      {std::span<float, 6>(vector), vector.data()},
      {array, array.data()},
      {plain, plain},
      {host, host.bytes.data()},
      {TensorView{.type = kFloats, .data = plain}, plain},
      {Feed(kFloats, plain), plain}};
  for (const auto& [feed, data] : feeds) {
    EXPECT_THAT(feed.Check(kFloats), IsOk());
    EXPECT_EQ(feed.data(), data);
  }
}

template <typename T>
absl::Status CheckOne(DType dtype) {
  return Feed(std::span<const T>(std::array<T, 1>())).Check({dtype, {1}});
}

TEST(FeedTest, EveryElementTypeHasItsCppType) {
  EXPECT_THAT(CheckOne<float>(DType::kFloat32), IsOk());
  EXPECT_THAT(CheckOne<BFloat16>(DType::kBFloat16), IsOk());
  EXPECT_THAT(CheckOne<Float16>(DType::kFloat16), IsOk());
  EXPECT_THAT(CheckOne<int32_t>(DType::kInt32), IsOk());
  EXPECT_THAT(CheckOne<int64_t>(DType::kInt64), IsOk());
  EXPECT_THAT(CheckOne<uint8_t>(DType::kUInt8), IsOk());
  EXPECT_THAT(CheckOne<bool>(DType::kBool), IsOk());
  // Other types do not compile.
  EXPECT_FALSE((std::constructible_from<Feed, std::vector<double>>));
  EXPECT_FALSE((std::constructible_from<Feed, std::vector<bool>>));
  EXPECT_FALSE((std::constructible_from<Feed, double>));
}

TEST(FeedTest, ASingleElementIsCopied) {
  Feed feed;
  {
    int32_t element = 7;
    feed = element;
    element = 8;
  }
  EXPECT_THAT(feed.Check(kOneInt), IsOk());
  const Feed copy = feed;
  EXPECT_EQ(*static_cast<const int32_t*>(copy.data()), 7);
}

TEST(FeedTest, ElementsOfAnotherTypeOrNumberAreRefused) {
  const std::vector<int32_t> ints(6);
  const std::vector<float> five(5);
  EXPECT_THAT(Feed(ints).Check(kFloats),
              StatusIs(kInvalid, AllOf(HasSubstr("float32[2, 3]"),
                                       HasSubstr("6 of int32"))));
  EXPECT_THAT(Feed(five).Check(kFloats),
              StatusIs(kInvalid, HasSubstr("6 elements of float32, got 5")));
  EXPECT_THAT(Feed(1.0F).Check(kOneInt),
              StatusIs(kInvalid, HasSubstr("got 1 of float32")));
  EXPECT_THAT(Feed().Check(kFloats), StatusIs(kInvalid, HasSubstr("no data")));
}

TEST(FeedTest, WhereTheShapeIsKnownItIsChecked) {
  const std::vector<float> six(6);
  const TensorType turned = {DType::kFloat32, {3, 2}};
  const std::string message = "expected float32[2, 3], got float32[3, 2]";
  EXPECT_THAT(Feed(turned, six.data()).Check(kFloats),
              StatusIs(kInvalid, message));
  EXPECT_THAT(Feed(MakeHostTensor(turned, six)).Check(kFloats),
              StatusIs(kInvalid, message));
}

TEST(FeedTest, AHostTensorWithTooFewBytesIsRefused) {
  HostTensor tensor = MakeHostTensor(kFloats, std::vector<float>(6));
  tensor.bytes.pop_back();
  EXPECT_THAT(
      Feed(tensor).Check(kFloats),
      StatusIs(kInvalid, HasSubstr("needs 24 bytes, the tensor has 23")));
}

TEST(HostTensorTest, SpansAreOfTheElementType) {
  HostTensor tensor =
      MakeHostTensor(kFloats, std::vector<float>{1, 2, 3, 4, 5, 6});
  ASSERT_OK_AND_ASSIGN(const std::span<const float> span, tensor.span<float>());
  EXPECT_THAT(std::vector(span.begin(), span.end()),
              ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(tensor.span<int32_t>().status(),
              StatusIs(kInvalid, HasSubstr("float32[2, 3]; its elements are "
                                           "float32, not int32")));
  tensor.bytes.pop_back();
  EXPECT_THAT(tensor.span<float>().status(),
              StatusIs(kInvalid, HasSubstr("24 bytes, not 23")));
  tensor.type.shape = Shape({int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_FALSE(tensor.span<float>().ok());
}

}  // namespace
}  // namespace spillway
