#include "tuner/profile/measure_host.h"

#include <array>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

using Clock = std::chrono::steady_clock;

class NoTask final : public StreamTask {
 public:
  absl::Status Run(void*) override { return absl::OkStatus(); }
};

// Fewer tasks than a stream accepts before it blocks.
constexpr int kTasks = 256;

absl::Status IssueTasks(Stream& stream, StreamTask& task, Event& mark) {
  for (int i = 0; i < kTasks; ++i) {
    SPILLWAY_RETURN_IF_ERROR(stream.Submit(&task));
    SPILLWAY_RETURN_IF_ERROR(stream.Record(&mark));
  }
  return absl::OkStatus();
}

int64_t RoundedMedian(const std::vector<double>& values) {
  return static_cast<int64_t>(Median(values));
}

}  // namespace

absl::StatusOr<int64_t> MeasureIssueNs(Device& device) {
  constexpr int kRounds = 15;
  NoTask task;
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Event> mark,
                            device.NewEvent({}));
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream,
                            device.NewStream({.name = "issue"}));
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point begin = Clock::now();
    const absl::Status issued = IssueTasks(*stream, task, *mark);
    const std::chrono::nanoseconds taken = Clock::now() - begin;
    SPILLWAY_RETURN_IF_ERROR(stream->Synchronize());
    SPILLWAY_RETURN_IF_ERROR(issued);
    times.push_back(static_cast<double>(taken.count()) / kTasks);
  }
  return RoundedMedian(times);
}

absl::StatusOr<int64_t> MeasureWakeNs(Device& device) {
  constexpr size_t kMarks = 200;
  std::vector<std::unique_ptr<Event>> marks;
  while (marks.size() < kMarks) {
    SPILLWAY_ASSIGN_OR_RETURN(auto mark, device.NewEvent({.timing = true}));
    marks.push_back(std::move(mark));
  }
  std::array<std::unique_ptr<Stream>, 2> streams;
  for (std::unique_ptr<Stream>& stream : streams) {
    SPILLWAY_ASSIGN_OR_RETURN(stream, device.NewStream({.name = "wake"}));
  }
  // Each stream sleeps until the other has passed the previous event.
  for (size_t i = 0; i < kMarks; ++i) {
    Stream& stream = *streams[i % 2];
    if (i > 0) SPILLWAY_RETURN_IF_ERROR(stream.Wait(marks[i - 1].get()));
    SPILLWAY_RETURN_IF_ERROR(stream.Record(marks[i].get()));
  }
  for (const auto& stream : streams)
    SPILLWAY_RETURN_IF_ERROR(stream->Synchronize());
  std::vector<double> times;
  for (size_t i = 1; i < kMarks; ++i) {
    times.push_back(
        static_cast<double>(marks[i]->TimeNs() - marks[i - 1]->TimeNs()));
  }
  return RoundedMedian(times);
}

}  // namespace spillway
