#include "tuner/policies/play_caffe.h"

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "executor/plan/plan.h"
#include "fmt/format.h"
#include "simulator/link_direction.h"

namespace spillway {
namespace {

class CaffePlayer {
 public:
  CaffePlayer(const RuntimeStep& step, const CaffeOptions& options)
      : step_(step),
        options_(options),
        taken_bytes_(step.list.resident_bytes),
        chunks_(step.list.storages.size()) {
    const std::vector<char> is_fed = FedStorages(step.list);
    for (size_t s = 0; s < chunks_.size(); ++s) {
      chunks_[s].bytes = AlignUp(step.list.storages[s].bytes, kBufferAlignment);
      chunks_[s].is_on_host = is_fed[s] != 0;
    }
  }

  PlayedPolicy Run() {
    played_.step_ns = SerialKernelsNs(step_);
    for (const KernelUse& use : KernelUsesOf(step_.list)) {
      if (Play(use)) continue;
      return {.reason = fmt::format(
                  "step {}: its tensors and those that cannot move need {} "
                  "more bytes",
                  use.step, taken_bytes_ - step_.budget_bytes)};
    }
    played_.fits = true;
    return std::move(played_);
  }

 private:
  struct Chunk {
    int64_t bytes = 0;
    int32_t used = -1;  // the last kernel
    bool is_here = false;
    bool is_on_host = false;  // the host has the same bytes
    bool is_locked = false;
  };

  Chunk& chunk(StorageIndex s) { return chunks_[static_cast<size_t>(s)]; }

  bool Play(const KernelUse& use) {
    for (const StorageIndex s : use.reads) chunk(s).is_locked = true;
    for (const StorageIndex s : use.writes) chunk(s).is_locked = true;
    for (const StorageIndex s : use.reads) {
      if (!Bring(s)) return false;
    }
    for (const StorageIndex s : use.writes) {
      if (!Bring(s)) return false;
      chunk(s).is_on_host = false;
    }
    const int64_t workspace = AlignUp(use.workspace_bytes, kBufferAlignment);
    if (!Take(workspace)) return false;
    taken_bytes_ -= workspace;
    const auto leave = [&](StorageIndex s) {
      chunk(s).is_locked = false;
      chunk(s).used = use.step;
    };
    std::ranges::for_each(use.reads, leave);
    std::ranges::for_each(use.writes, leave);
    for (const StorageIndex s : use.deaths) {
      if (chunk(s).is_here) taken_bytes_ -= chunk(s).bytes;
      chunk(s).is_here = false;
    }
    return true;
  }

  bool Bring(StorageIndex s) {
    Chunk& of = chunk(s);
    if (of.is_here) return true;
    if (!Take(of.bytes)) return false;
    of.is_here = true;
    if (!of.is_on_host) return true;
    played_.to_device_bytes += of.bytes;
    played_.step_ns += CopyNs(step_.profile.to_device, of.bytes);
    return true;
  }

  // Moves chunks until the bytes are within the soft limit, or none can move.
  bool Take(int64_t bytes) {
    taken_bytes_ += bytes;
    while (taken_bytes_ > step_.budget_bytes - options_.exclude_bytes) {
      const StorageIndex oldest = Oldest();
      if (oldest == kNoStorage) break;
      Evict(oldest);
    }
    played_.device_bytes = std::max(played_.device_bytes, taken_bytes_);
    return taken_bytes_ <= step_.budget_bytes;
  }

  StorageIndex Oldest() const {
    StorageIndex oldest = kNoStorage;
    for (size_t s = 0; s < chunks_.size(); ++s) {
      const Chunk& of = chunks_[s];
      if (!of.is_here || of.is_locked ||
          of.bytes < options_.size_threshold_bytes) {
        continue;
      }
      if (oldest == kNoStorage ||
          of.used < chunks_[static_cast<size_t>(oldest)].used) {
        oldest = static_cast<StorageIndex>(s);
      }
    }
    return oldest;
  }

  void Evict(StorageIndex s) {
    Chunk& of = chunk(s);
    played_.evictions.push_back(
        {.storage = s, .bytes = of.bytes, .is_copied = !of.is_on_host});
    if (!of.is_on_host) {
      played_.to_host_bytes += of.bytes;
      played_.step_ns += CopyNs(step_.profile.to_host, of.bytes);
    }
    of.is_on_host = true;
    of.is_here = false;
    taken_bytes_ -= of.bytes;
  }

  const RuntimeStep& step_;
  const CaffeOptions& options_;
  int64_t taken_bytes_;
  std::vector<Chunk> chunks_;  // by storage
  PlayedPolicy played_;
};

}  // namespace

PlayedPolicy PlayCaffe(const RuntimeStep& step, const CaffeOptions& options) {
  return CaffePlayer(step, options).Run();
}

}  // namespace spillway
