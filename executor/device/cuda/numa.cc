#include "executor/device/cuda/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <fstream>

namespace spillway {
namespace {

constexpr size_t kWordBits = 8 * sizeof(unsigned long);
constexpr size_t kNodes = MemoryPolicy::Nodes().size();
using Words = std::array<unsigned long, kNodes / kWordBits>;
// Linux expects one more than the number of bits.
constexpr unsigned long kMaxNode = kNodes + 1;

class LinuxMemoryPolicy final : public MemoryPolicyApi {
 public:
  std::optional<MemoryPolicy> Get() override {
    MemoryPolicy policy;
    Words words = {};
    if (syscall(SYS_get_mempolicy, &policy.mode, words.data(), kNodes, nullptr,
                0) != 0) {
      return std::nullopt;
    }
    for (size_t i = 0; i < kNodes; ++i) {
      policy.nodes[i] = (words[i / kWordBits] >> (i % kWordBits) & 1) != 0;
    }
    return policy;
  }

  bool Set(const MemoryPolicy& policy) override {
    Words words = {};
    for (size_t i = 0; i < kNodes; ++i) {
      if (policy.nodes[i]) words[i / kWordBits] |= 1UL << (i % kWordBits);
    }
    // Null if the mask is empty: some modes do not accept a mask.
    const unsigned long* mask = policy.nodes.any() ? words.data() : nullptr;
    return syscall(SYS_set_mempolicy, policy.mode, mask,
                   mask == nullptr ? 0 : kMaxNode) == 0;
  }
};

}  // namespace

std::optional<int> NumaNodeOf(std::string pci_bus_id,
                              const std::string& devices) {
  // CUDA writes hexadecimal digits in upper case, Linux in lower case.
  std::ranges::transform(pci_bus_id, pci_bus_id.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  std::ifstream file(devices + "/" + pci_bus_id + "/numa_node");
  int node = -1;
  if (!(file >> node) || node < 0) return std::nullopt;
  return node;
}

MemoryPolicyApi& SystemMemoryPolicy() {
  static LinuxMemoryPolicy policy;
  return policy;
}

ScopedNumaNode::ScopedNumaNode(std::optional<int> node, MemoryPolicyApi& api)
    : api_(api) {
  MemoryPolicy near = {.mode = MPOL_PREFERRED};
  if (!node || static_cast<size_t>(*node) >= near.nodes.size()) return;
  near.nodes.set(static_cast<size_t>(*node));
  const std::optional<MemoryPolicy> before = api_.Get();
  if (before && api_.Set(near)) before_ = before;
}

ScopedNumaNode::~ScopedNumaNode() {
  if (before_) api_.Set(*before_);
}

}  // namespace spillway
