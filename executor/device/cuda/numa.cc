#include "executor/device/cuda/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>

namespace spillway {

std::optional<int> NumaNodeOf(std::string pci_bus_id,
                              const std::string& devices) {
  // CUDA writes hexadecimal digits large, Linux small.
  std::ranges::transform(pci_bus_id, pci_bus_id.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  std::ifstream file(devices + "/" + pci_bus_id + "/numa_node");
  int node = -1;
  if (!(file >> node) || node < 0) return std::nullopt;
  return node;
}

ScopedNumaNode::ScopedNumaNode(std::optional<int> node) {
  constexpr int kBits = 8 * sizeof(unsigned long);
  if (!node || *node >= kBits) return;
  const unsigned long nodes = 1UL << *node;
  is_set_ = syscall(SYS_set_mempolicy, MPOL_PREFERRED, &nodes, kBits + 1) == 0;
}

ScopedNumaNode::~ScopedNumaNode() {
  if (is_set_) syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
}

}  // namespace spillway
