// What run-time policies have in common: they make no plan before the step, but
// move tensors when an allocation does not fit. They are played on the list of
// steps, with the kernel and link times that plans have too.
#ifndef SPILLWAY_TUNER_POLICIES_PLAYED_POLICY_H_
#define SPILLWAY_TUNER_POLICIES_PLAYED_POLICY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/device_profile.h"
#include "tuner/model/step_list.h"

namespace spillway {

// Borrows everything for the call.
struct RuntimeStep {
  const StepList& list;  // without clones
  const DeviceProfile& profile;
  int64_t budget_bytes = 0;  // of the device, residents included
};

struct Eviction {
  StorageIndex storage = kNoStorage;
  int64_t bytes = 0;
  bool is_copied = false;  // false: the host had the bytes already

  friend bool operator==(const Eviction&, const Eviction&) = default;
};

struct PlayedPolicy {
  bool fits = false;
  std::string reason = {};  // why not; the other fields are then not set
  int64_t step_ns = 0;
  int64_t device_bytes = 0;  // the most at once, residents included
  int64_t to_host_bytes = 0;
  int64_t to_device_bytes = 0;
  std::vector<Eviction> evictions = {};  // in order
};

// Device storages that a kernel uses, each once; ascending.
struct KernelUse {
  int32_t step = 0;  // of the list
  int64_t workspace_bytes = 0;
  std::vector<StorageIndex> reads = {};   // that it does not also write
  std::vector<StorageIndex> writes = {};  // new ones, and those in place
  std::vector<StorageIndex> deaths = {};  // no later step uses them
};

// The kernels of the list in order. A storage that only an alias uses last dies
// at the next kernel.
std::vector<KernelUse> KernelUsesOf(const StepList& list);

// By storage: whether the caller feeds it, so that the host has its bytes.
std::vector<char> FedStorages(const StepList& list);

// The time of all kernels one after the other, which the host issues ahead, and
// of the call (DeviceProfile::call_ns).
int64_t SerialKernelsNs(const RuntimeStep& step);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_PLAYED_POLICY_H_
