#include "tuner/policies/play_unified.h"

#include <algorithm>
#include <list>
#include <vector>

#include "base/units.h"
#include "fmt/format.h"
#include "simulator/link_direction.h"

namespace spillway {
namespace {

class UnifiedPlayer {
 public:
  UnifiedPlayer(const RuntimeStep& step, int64_t page_bytes)
      : step_(step),
        page_bytes_(page_bytes),
        in_ns_(CopyNs(step.profile.to_device, page_bytes)),
        out_ns_(CopyNs(step.profile.to_host, page_bytes)),
        capacity_((step.budget_bytes - step.list.resident_bytes) / page_bytes) {
    const std::vector<char> is_fed = FedStorages(step.list);
    for (size_t s = 0; s < step.list.storages.size(); ++s) {
      const int64_t pages = PagesOf(step.list.storages[s].bytes);
      first_page_.push_back(pages_.size());
      pages_.resize(pages_.size() + static_cast<size_t>(pages),
                    {.storage = static_cast<StorageIndex>(s),
                     .place = is_fed[s] != 0 ? Place::kHost : Place::kNone});
    }
    first_page_.push_back(pages_.size());
  }

  PlayedPolicy Run() {
    if (capacity_ < 1) {
      return {.reason = fmt::format("no room for a page of {} bytes beside the "
                                    "residents' {} bytes",
                                    page_bytes_, step_.list.resident_bytes)};
    }
    played_.fits = true;
    played_.step_ns = SerialKernelsNs(step_);
    for (const KernelUse& use : KernelUsesOf(step_.list)) Play(use);
    played_.device_bytes = step_.list.resident_bytes + most_ * page_bytes_;
    return std::move(played_);
  }

 private:
  enum class Place : uint8_t { kNone, kHost, kDevice };

  using Recency = std::list<size_t>;  // pages, the oldest touch first

  struct Page {
    StorageIndex storage = kNoStorage;
    Place place = Place::kNone;
    Recency::iterator at = {};  // if on the device
  };

  int64_t PagesOf(int64_t bytes) const {
    return (bytes + page_bytes_ - 1) / page_bytes_;
  }

  void Play(const KernelUse& use) {
    const int64_t workspace =
        std::min(PagesOf(use.workspace_bytes), capacity_ - 1);
    taken_ += workspace;
    while (taken_ > capacity_) EvictOldest();
    most_ = std::max(most_, taken_);
    for (const StorageIndex s : use.reads) Touch(s);
    for (const StorageIndex s : use.writes) Touch(s);
    taken_ -= workspace;
    for (const StorageIndex s : use.deaths) Drop(s);
  }

  void Touch(StorageIndex s) {
    for (size_t p = Begin(s); p < End(s); ++p) {
      Page& page = pages_[p];
      if (page.place == Place::kDevice) {
        recency_.splice(recency_.end(), recency_, page.at);
        continue;
      }
      while (taken_ + 1 > capacity_) EvictOldest();
      ++taken_;
      most_ = std::max(most_, taken_);
      if (page.place == Place::kHost) {
        played_.to_device_bytes += page_bytes_;
        played_.step_ns += in_ns_;
      }
      page.place = Place::kDevice;
      page.at = recency_.insert(recency_.end(), p);
    }
  }

  void EvictOldest() {
    Page& page = pages_[recency_.front()];
    recency_.pop_front();
    page.place = Place::kHost;
    --taken_;
    played_.to_host_bytes += page_bytes_;
    played_.step_ns += out_ns_;
    if (played_.evictions.empty() ||
        played_.evictions.back().storage != page.storage) {
      played_.evictions.push_back({.storage = page.storage, .is_copied = true});
    }
    played_.evictions.back().bytes += page_bytes_;
  }

  void Drop(StorageIndex s) {
    for (size_t p = Begin(s); p < End(s); ++p) {
      Page& page = pages_[p];
      if (page.place == Place::kDevice) {
        recency_.erase(page.at);
        --taken_;
      }
      page.place = Place::kNone;
    }
  }

  size_t Begin(StorageIndex s) const {
    return first_page_[static_cast<size_t>(s)];
  }
  size_t End(StorageIndex s) const {
    return first_page_[static_cast<size_t>(s) + 1];
  }

  const RuntimeStep& step_;
  const int64_t page_bytes_;
  const int64_t in_ns_;
  const int64_t out_ns_;
  const int64_t capacity_;  // in pages
  int64_t taken_ = 0;       // pages, of workspaces too
  int64_t most_ = 0;
  std::vector<size_t> first_page_;  // by storage; one more for the end
  std::vector<Page> pages_;
  Recency recency_;
  PlayedPolicy played_;
};

}  // namespace

PlayedPolicy PlayUnified(const RuntimeStep& step, int64_t page_bytes) {
  return UnifiedPlayer(step, page_bytes).Run();
}

}  // namespace spillway
