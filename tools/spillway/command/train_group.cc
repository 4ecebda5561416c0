#include "tools/spillway/command/train_group.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "base/status_macros.h"
#include "comm/thread_communicator.h"
#include "fmt/format.h"

namespace spillway {
namespace {

absl::StatusOr<bool> IsOnGpus(const StepOptions& step) {
  if (!step.device.empty()) return step.device == "cuda";
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                            OpenWholeDevice(step));
  return device->kind() == DeviceKind::kCuda;
}

// Of device `device` of this process. `gpu`: its number; -1: it is a CPU.
TrainFlags FlagsOfDevice(const TrainFlags& flags, size_t device, int gpu) {
  TrainFlags own = flags;
  if (gpu >= 0) own.step.device = fmt::format("cuda:{}", gpu);
  if (!flags.device_budgets.empty()) {
    own.step.device_memory = flags.device_budgets[device];
  }
  if (device > 0) {  // it would say the same
    own.step.warns_of_profile = false;
    own.step.log = nullptr;
  }
  return own;
}

// That of the first device with an error of its own; else the first one.
absl::Status FirstError(const std::vector<absl::Status>& results) {
  absl::Status first;
  for (const absl::Status& result : results) {
    if (result.ok()) continue;
    if (!absl::IsAborted(result)) return result;
    first.Update(result);
  }
  return first;
}

}  // namespace

absl::Status TrainOnDevices(const TrainFlags& flags, Communicator* processes,
                            const TrainOnDevice& train) {
  const auto devices = static_cast<size_t>(flags.workers.num_devices);
  if (devices > 1 && flags.step.device.starts_with("cuda:")) {
    return InvalidArgument(
        fmt::format("--device: {} is one GPU; with --num_devices {}, say cuda",
                    flags.step.device, devices));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_on_gpus, IsOnGpus(flags.step));
  CommOptions options = CommOptionsOf(flags.workers);
  if (processes != nullptr) options.slow_bytes_per_second = 0;  // theirs is
  auto workers =
      NewThreadCommunicators(static_cast<int>(devices), options, processes);
  std::vector<absl::Status> results(devices);
  std::vector<std::jthread> threads;
  for (size_t device = 0; device < devices; ++device) {
    threads.emplace_back([&, device] {
      Communicator& own = *workers[device];
      const int gpu = is_on_gpus ? own.info().local_rank : -1;
      results[device] = train(FlagsOfDevice(flags, device, gpu), own);
      if (!results[device].ok() && !absl::IsCancelled(results[device])) {
        own.Abort(results[device]);  // the others need not wait for it
      }
      workers[device].reset();
    });
  }
  threads.clear();  // joins
  return FirstError(results);
}

}  // namespace spillway
