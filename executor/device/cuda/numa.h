// Host memory near a GPU, on machines whose memory is in several parts (NUMA).
#ifndef SPILLWAY_EXECUTOR_DEVICE_CUDA_NUMA_H_
#define SPILLWAY_EXECUTOR_DEVICE_CUDA_NUMA_H_

#include <bitset>
#include <optional>
#include <string>

namespace spillway {

// The node of the PCI device "0000:17:00.0", as Linux says; nothing where it
// does not know, as on machines of one node. `devices`: the folder to ask.
std::optional<int> NumaNodeOf(
    std::string pci_bus_id,
    const std::string& devices = "/sys/bus/pci/devices");

// Where the pages that a thread touches first come from: a mode of
// <linux/mempolicy.h> with its flags, and the nodes that the mode is about.
struct MemoryPolicy {
  // More nodes than any kernel is built for.
  using Nodes = std::bitset<1024>;

  int mode = 0;
  Nodes nodes = {};
};

// The calling thread's policy, as the system keeps it.
class MemoryPolicyApi {
 public:
  virtual ~MemoryPolicyApi() = default;
  // None, and false: the system refused.
  virtual std::optional<MemoryPolicy> Get() = 0;
  virtual bool Set(const MemoryPolicy& policy) = 0;
};

// Linux's own; lives as long as the process. Threads: any.
MemoryPolicyApi& SystemMemoryPolicy();

// While it lives, pages that this thread is the first to touch come from the
// node, as long as it has some. Then the thread has the policy again that it
// had before. A hint: where the system refuses to tell or to set the policy,
// nothing changes. `api` is borrowed.
class ScopedNumaNode {
 public:
  explicit ScopedNumaNode(std::optional<int> node,
                          MemoryPolicyApi& api = SystemMemoryPolicy());
  ~ScopedNumaNode();
  ScopedNumaNode(const ScopedNumaNode&) = delete;
  ScopedNumaNode& operator=(const ScopedNumaNode&) = delete;

 private:
  MemoryPolicyApi& api_;
  std::optional<MemoryPolicy> before_;  // none: nothing was changed
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CUDA_NUMA_H_
