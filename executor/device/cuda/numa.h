// Host memory near a GPU, on machines whose memory is in several parts (NUMA).
#ifndef SPILLWAY_EXECUTOR_DEVICE_CUDA_NUMA_H_
#define SPILLWAY_EXECUTOR_DEVICE_CUDA_NUMA_H_

#include <optional>
#include <string>

namespace spillway {

// The node of the PCI device "0000:17:00.0", as Linux says; nothing where it
// does not know, as on machines of one node. `devices`: the folder to ask.
std::optional<int> NumaNodeOf(
    std::string pci_bus_id,
    const std::string& devices = "/sys/bus/pci/devices");

// While it lives, pages that this thread is the first to touch come from the
// node, as long as it has some. A hint: where the system refuses, nothing
// changes.
class ScopedNumaNode {
 public:
  explicit ScopedNumaNode(std::optional<int> node);
  ~ScopedNumaNode();
  ScopedNumaNode(const ScopedNumaNode&) = delete;
  ScopedNumaNode& operator=(const ScopedNumaNode&) = delete;

 private:
  bool is_set_ = false;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CUDA_NUMA_H_
