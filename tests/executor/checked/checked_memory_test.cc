#include "executor/checked/checked_memory.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/device/registry.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr absl::StatusCode kFound = absl::StatusCode::kInternal;

// A resident w in [0, 1000) of an 8 KiB arena, and a host pool of 4 KiB.
class CheckedMemoryTest : public ::testing::Test {
 protected:
  static Buffer MakeBuffer(const std::string& name, int64_t offset,
                           int64_t bytes, Space space = Space::kDevice) {
    return {.name = name, .space = space, .offset = offset, .bytes = bytes};
  }

  // Begins a buffer and writes all of it.
  absl::Status Put(const Buffer& buffer, std::byte value) {
    SPILLWAY_RETURN_IF_ERROR(memory_.Begin(buffer));
    std::ranges::fill(memory_.Bytes(buffer), value);
    memory_.Seal(buffer);
    return absl::OkStatus();
  }

  void WriteByte(size_t at) { device_arena_.bytes()[at] = std::byte{42}; }

  const std::unique_ptr<Device> device_ = NewDevice("inline", {}).value();
  Arena device_arena_ =
      Arena::Create(*device_, MemorySpace::kDevice, 8_KiB).value();
  Arena host_arena_ =
      Arena::Create(*device_, MemorySpace::kHost, 4_KiB).value();
  const Buffer w_ = MakeBuffer("w", 0, 1000);
  const Buffer a_ = MakeBuffer("a", 1024, 2000);
  CheckedMemory memory_ = CheckedMemory::Create({.device = device_.get(),
                                                 .device_arena = &device_arena_,
                                                 .host_arena = &host_arena_,
                                                 .residents = {w_}})
                              .value();
};

TEST_F(CheckedMemoryTest, BuffersMayFollowEachOtherOnTheSameBytes) {
  ASSERT_THAT(Put(a_, std::byte{1}), IsOk());
  EXPECT_THAT(memory_.CheckSealed(a_), IsOk());
  memory_.End(a_);
  // Partly on poison, partly on virgin bytes.
  const Buffer b = MakeBuffer("b", 2048, 4000);
  ASSERT_THAT(Put(b, std::byte{2}), IsOk());
  memory_.SealResidents();
  EXPECT_THAT(memory_.CheckAll(), IsOk());
}

TEST_F(CheckedMemoryTest, ABufferOnALiveOneIsRefused) {
  ASSERT_THAT(Put(a_, std::byte{1}), IsOk());
  for (const int64_t offset : {1024 - 256, 1024, 1280, 3023 - 255}) {
    EXPECT_THAT(memory_.Begin(MakeBuffer("b", offset, 512)),
                StatusIs(kFound, AllOf(HasSubstr("hold b"),
                                       HasSubstr("a still lives in [1024, "
                                                 "3024)"))));
  }
  EXPECT_THAT(memory_.Begin(MakeBuffer("b", 768, 256)),
              StatusIs(kFound, HasSubstr("w still lives")));
  EXPECT_THAT(memory_.Begin(MakeBuffer("b", 3024, 512)), IsOk());
}

TEST_F(CheckedMemoryTest, TheSpacesAreApart) {
  ASSERT_THAT(Put(a_, std::byte{1}), IsOk());
  EXPECT_THAT(Put(MakeBuffer("a_host", 1024, 2000, Space::kHost), std::byte{1}),
              IsOk());
}

TEST_F(CheckedMemoryTest, AWriteToBytesWithoutABufferIsFoundAtTheNextBirth) {
  WriteByte(1030);
  EXPECT_THAT(memory_.Begin(a_),
              StatusIs(kFound, AllOf(HasSubstr("a: byte 1030 of device memory"),
                                     HasSubstr("byte 6 from 1024"))));
}

TEST_F(CheckedMemoryTest, AWriteAfterTheEndIsFoundAtTheNextBirth) {
  ASSERT_THAT(Put(a_, std::byte{1}), IsOk());
  memory_.End(a_);
  WriteByte(3023);
  EXPECT_THAT(memory_.Begin(a_), StatusIs(kFound, HasSubstr("byte 3023 of")));
}

TEST_F(CheckedMemoryTest, AnyByteWithoutABufferIsLookedAtInTheEnd) {
  memory_.SealResidents();
  ASSERT_THAT(Put(a_, std::byte{1}), IsOk());
  // Between resident and buffer, and from the buffer to the last byte.
  for (const size_t at : {1000u, 1023u, 3024u, 8191u}) {
    const std::byte before = device_arena_.bytes()[at];
    WriteByte(at);
    EXPECT_THAT(memory_.CheckAll(),
                StatusIs(kFound, HasSubstr("byte " + std::to_string(at))));
    device_arena_.bytes()[at] = before;
  }
  EXPECT_THAT(memory_.CheckAll(), IsOk());
  host_arena_.bytes()[17] = std::byte{1};
  EXPECT_THAT(memory_.CheckAll(),
              StatusIs(kFound, HasSubstr("byte 17 of host memory")));
}

TEST_F(CheckedMemoryTest, AChangedBufferIsFoundWhenReadAndInTheEnd) {
  memory_.SealResidents();
  ASSERT_THAT(Put(a_, std::byte{1}), IsOk());
  WriteByte(3023);
  EXPECT_THAT(memory_.CheckSealed(a_), StatusIs(kFound, HasSubstr("changed")));
  EXPECT_THAT(memory_.CheckAll(), StatusIs(kFound, HasSubstr("a: ")));
  memory_.Seal(a_);
  EXPECT_THAT(memory_.CheckAll(), IsOk());
  WriteByte(8);
  EXPECT_THAT(memory_.CheckSealed(w_), StatusIs(kFound, HasSubstr("changed")));
  EXPECT_THAT(memory_.CheckAll(), StatusIs(kFound, HasSubstr("w: ")));
}

TEST_F(CheckedMemoryTest, SignsThatFlipInPairsAreSeen) {
  ASSERT_THAT(Put(a_, std::byte{1}), IsOk());
  for (const size_t at : {7u, 15u}) memory_.Bytes(a_)[at] = std::byte{0x81};
  EXPECT_THAT(memory_.CheckSealed(a_), StatusIs(kFound, HasSubstr("changed")));
}

TEST_F(CheckedMemoryTest, ABufferThatDoesNotLiveCannotBeRead) {
  EXPECT_THAT(memory_.CheckSealed(a_),
              StatusIs(kFound, HasSubstr("before it was written")));
  ASSERT_THAT(Put(MakeBuffer("b", 1024, 2000), std::byte{1}), IsOk());
  EXPECT_THAT(memory_.CheckSealed(a_),
              StatusIs(kFound, HasSubstr("before it was written")));
}

TEST_F(CheckedMemoryTest, EndAllLeavesTheResidents) {
  std::ranges::fill(memory_.Bytes(w_), std::byte{7});
  memory_.SealResidents();
  ASSERT_THAT(Put(a_, std::byte{1}), IsOk());
  memory_.EndAll();
  EXPECT_THAT(memory_.CheckAll(), IsOk());
  EXPECT_THAT(memory_.CheckSealed(w_), IsOk());
  EXPECT_THAT(Put(a_, std::byte{2}), IsOk());
}

TEST_F(CheckedMemoryTest, TheHighWaterMarkIsThatOfTheBytes) {
  EXPECT_EQ(memory_.high_water_bytes(Space::kDevice), 0);
  ASSERT_THAT(Put(a_, std::byte{1}), IsOk());
  EXPECT_EQ(memory_.high_water_bytes(Space::kDevice), 3024);
  memory_.EndAll();
  EXPECT_EQ(memory_.high_water_bytes(Space::kDevice), 3024);
  EXPECT_EQ(memory_.high_water_bytes(Space::kHost), 0);
  WriteByte(5000);  // written by an unknown step
  EXPECT_EQ(memory_.high_water_bytes(Space::kDevice), 5001);
}

TEST_F(CheckedMemoryTest, ABufferThatIsNeverWrittenCountsAsUsed) {
  ASSERT_THAT(memory_.Begin(a_), IsOk());
  memory_.End(a_);
  EXPECT_EQ(memory_.high_water_bytes(Space::kDevice), 3024);
}

TEST_F(CheckedMemoryTest, EmptyBuffersAreNowhere) {
  const Buffer empty = MakeBuffer("empty", 1024, 0);
  ASSERT_THAT(Put(a_, std::byte{1}), IsOk());
  EXPECT_THAT(Put(empty, std::byte{1}), IsOk());
  EXPECT_THAT(memory_.CheckSealed(empty), IsOk());
  memory_.End(empty);
  EXPECT_THAT(memory_.CheckSealed(a_), IsOk());
}

// Represents a GPU: the host cannot address its memory.
class DistantDevice final : public Device {
 public:
  std::string_view name() const override { return "distant"; }
  DeviceKind kind() const override { return DeviceKind::kCuda; }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(MemorySpace,
                                                         int64_t) override {
    return Unavailable("nothing is here");
  }
  absl::StatusOr<int64_t> FreeBytes() const override { return 0; }
  int64_t allocations() const override { return 0; }
  absl::StatusOr<std::unique_ptr<Stream>> NewStream(
      const StreamOptions&) override {
    return Unavailable("nothing is here");
  }
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(
      const EventOptions&) override {
    return Unavailable("nothing is here");
  }
};

TEST(CheckedMemory, ADeviceWithoutAddressableMemoryIsRefused) {
  const DistantDevice device;
  const Arena none;
  EXPECT_THAT(
      CheckedMemory::Create(
          {.device = &device, .device_arena = &none, .host_arena = &none}),
      StatusIs(absl::StatusCode::kUnimplemented,
               AllOf(HasSubstr("check_memory needs"), HasSubstr("distant"))));
}

}  // namespace
}  // namespace spillway
