#include "tuner/profile/measure_link.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "base/status_macros.h"
#include "base/units.h"

namespace spillway {
namespace {

constexpr std::array<int64_t, 7> kSizes = {4_KiB, 16_KiB, 64_KiB, 256_KiB,
                                           1_MiB, 4_MiB,  16_MiB};
constexpr int64_t kLinkPoolBytes = 32_MiB;
constexpr int64_t kSlowCopyNs = 100'000'000;

// At least this many copies; more if they are short.
constexpr int64_t kFewestCopies = 5;
constexpr int64_t kMostCopies = 64;

// Copies in one direction, with an event before and after each.
class Direction {
 public:
  static absl::StatusOr<Direction> Create(Device& device, bool to_host) {
    Direction direction;
    direction.to_host_ = to_host;
    SPILLWAY_ASSIGN_OR_RETURN(
        direction.device_bytes_,
        device.Allocate(MemorySpace::kDevice, kLinkPoolBytes));
    SPILLWAY_ASSIGN_OR_RETURN(
        direction.host_bytes_,
        device.Allocate(MemorySpace::kHost, kLinkPoolBytes));
    SPILLWAY_ASSIGN_OR_RETURN(direction.stream_,
                              device.NewStream({.name = "copies"}));
    while (direction.marks_.size() < 2 * kMostCopies) {
      SPILLWAY_ASSIGN_OR_RETURN(auto mark, device.NewEvent({.timing = true}));
      direction.marks_.push_back(std::move(mark));
    }
    return direction;
  }

  absl::Status Issue(int64_t bytes, int64_t copies) {
    for (int64_t i = 0; i < copies; ++i) {
      const int64_t at = next_;
      next_ = at + 2 * bytes <= kLinkPoolBytes ? at + bytes : 0;
      SPILLWAY_RETURN_IF_ERROR(stream_->Record(mark(2 * i)));
      SPILLWAY_RETURN_IF_ERROR(Copy(at, bytes));
      SPILLWAY_RETURN_IF_ERROR(stream_->Record(mark(2 * i + 1)));
    }
    return absl::OkStatus();
  }

  // The median time of one copy, after these have been issued.
  absl::StatusOr<int64_t> MedianNs(int64_t copies) {
    SPILLWAY_RETURN_IF_ERROR(stream_->Synchronize());
    std::vector<double> times;
    for (int64_t i = 0; i < copies; ++i) {
      times.push_back(static_cast<double>(mark(2 * i + 1)->TimeNs() -
                                          mark(2 * i)->TimeNs()));
    }
    return std::max<int64_t>(1, static_cast<int64_t>(Median(times)));
  }

 private:
  Event* mark(int64_t i) const { return marks_[static_cast<size_t>(i)].get(); }

  absl::Status Copy(int64_t at, int64_t bytes) {
    std::byte* device = device_bytes_->data() + at;
    std::byte* host = host_bytes_->data() + at;
    return to_host_ ? stream_->CopyToHost(host, device, bytes)
                    : stream_->CopyToDevice(device, host, bytes);
  }

  bool to_host_ = false;
  int64_t next_ = 0;  // where the next copy begins
  std::unique_ptr<DeviceMemory> device_bytes_;
  std::unique_ptr<DeviceMemory> host_bytes_;
  std::vector<std::unique_ptr<Event>> marks_;
  std::unique_ptr<Stream> stream_;  // last: ends before the members it borrows
};

absl::Status MeasureSize(int64_t bytes, Direction& out, Direction& in,
                         MeasuredLink& link) {
  const int64_t copies =
      std::clamp(kLinkPoolBytes / bytes, kFewestCopies, kMostCopies);
  CopyTime to_host = {.bytes = bytes};
  CopyTime to_device = {.bytes = bytes};
  SPILLWAY_RETURN_IF_ERROR(out.Issue(bytes, copies));
  SPILLWAY_ASSIGN_OR_RETURN(to_host.alone_ns, out.MedianNs(copies));
  SPILLWAY_RETURN_IF_ERROR(in.Issue(bytes, copies));
  SPILLWAY_ASSIGN_OR_RETURN(to_device.alone_ns, in.MedianNs(copies));
  SPILLWAY_RETURN_IF_ERROR(out.Issue(bytes, copies));
  SPILLWAY_RETURN_IF_ERROR(in.Issue(bytes, copies));
  SPILLWAY_ASSIGN_OR_RETURN(to_host.shared_ns, out.MedianNs(copies));
  SPILLWAY_ASSIGN_OR_RETURN(to_device.shared_ns, in.MedianNs(copies));
  link.to_host.by_size.push_back(to_host);
  link.to_device.by_size.push_back(to_device);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MeasuredLink> MeasureLink(Device& device,
                                         const StopRequest& stop) {
  SPILLWAY_ASSIGN_OR_RETURN(Direction out, Direction::Create(device, true));
  SPILLWAY_ASSIGN_OR_RETURN(Direction in, Direction::Create(device, false));
  MeasuredLink link;
  for (const int64_t bytes : kSizes) {
    SPILLWAY_RETURN_IF_ERROR(CheckStop(stop));
    SPILLWAY_RETURN_IF_ERROR(MeasureSize(bytes, out, in, link));
    if (link.to_host.by_size.back().alone_ns > kSlowCopyNs) break;
  }
  SummarizeTable(link.to_host);
  SummarizeTable(link.to_device);
  return link;
}

}  // namespace spillway
