// Host memory near a GPU, on machines with several NUMA nodes.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CUDA_NUMA_H_
#define SPILLWAY_EXECUTOR_DEVICE_CUDA_NUMA_H_

#include <bitset>
#include <optional>
#include <string>

namespace spillway {

// The NUMA node of the PCI device "0000:17:00.0", as Linux reports it; nothing
// if unknown, as on machines with one node. `devices`: the folder to read.
std::optional<int> NumaNodeOf(
    std::string pci_bus_id,
    const std::string& devices = "/sys/bus/pci/devices");

// Where the pages that a thread touches first come from: a mode of
// <linux/mempolicy.h> with its flags, and the nodes to which it applies.
struct MemoryPolicy {
  // More nodes than any Linux kernel supports.
  using Nodes = std::bitset<1024>;

  int mode = 0;
  Nodes nodes = {};
};

// The calling thread's policy, as the system keeps it.
class MemoryPolicyApi {
 public:
  virtual ~MemoryPolicyApi() = default;
  // Nothing, or false: the system refused.
  virtual std::optional<MemoryPolicy> Get() = 0;
  virtual bool Set(const MemoryPolicy& policy) = 0;
};

// Linux's implementation; lives as long as the process. Thread-safe.
MemoryPolicyApi& SystemMemoryPolicy();

// During its lifetime, pages that this thread is the first to touch come from
// the node, if it has free pages. Afterwards the thread's previous policy is
// restored. A hint: if the system refuses to get or set the policy, nothing
// changes. `api` is borrowed.
class ScopedNumaNode {
 public:
  explicit ScopedNumaNode(std::optional<int> node,
                          MemoryPolicyApi& api = SystemMemoryPolicy());
  ~ScopedNumaNode();
  ScopedNumaNode(const ScopedNumaNode&) = delete;
  ScopedNumaNode& operator=(const ScopedNumaNode&) = delete;

 private:
  MemoryPolicyApi& api_;
  std::optional<MemoryPolicy> before_;  // none: the policy was not changed
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CUDA_NUMA_H_
