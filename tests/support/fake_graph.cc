#include "tests/support/fake_graph.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace spillway::testing {

size_t FakeGraph::Add(std::function<void()> work, Nodes after) {
  nodes_.push_back({.work = std::move(work), .after = std::move(after)});
  return nodes_.size() - 1;
}

bool FakeGraph::Includes(const Nodes& ends, const Nodes& nodes) const {
  Nodes before = ends;
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (!before.contains(i)) continue;
    before.insert(nodes_[i].after.begin(), nodes_[i].after.end());
  }
  return std::ranges::includes(before, nodes);
}

void FakeGraph::Run() const {
  Nodes left;
  for (size_t i = 0; i < nodes_.size(); ++i) left.insert(i);
  const auto may_run = [&](size_t i) {
    return std::ranges::none_of(nodes_[i].after,
                                [&](size_t j) { return left.contains(j); });
  };
  while (!left.empty()) {
    const auto last = std::find_if(left.rbegin(), left.rend(), may_run);
    SPILLWAY_CHECK(last != left.rend());
    const size_t next = *last;
    nodes_[next].work();
    left.erase(next);
  }
}

FakeCapture::Error FakeCapture::Add(void* stream, std::function<void()> work) {
  if (is_spoilt_) return kInvalidated;
  FakeGraph::Nodes& tail = tails_.at(stream);
  tail = {graph_->Add(std::move(work), std::move(tail))};
  return 0;
}

FakeCapture::Error FakeCapture::Record(void* stream,
                                       FakeGraph::Nodes* mark) const {
  if (is_spoilt_) return kInvalidated;
  *mark = tails_.at(stream);
  return 0;
}

FakeCapture::Error FakeCapture::Wait(void* stream,
                                     const FakeGraph::Nodes& mark) {
  if (is_spoilt_) return kInvalidated;
  tails_[stream].insert(mark.begin(), mark.end());
  return 0;
}

FakeCapture::Error FakeCapture::Spoil(Error error) {
  is_spoilt_ = true;
  return error;
}

FakeCapture::Error FakeCapture::End(void* stream,
                                    std::unique_ptr<FakeGraph>* graph) {
  if (stream != origin_) return Spoil(kUnmatched);
  if (is_spoilt_) return kInvalidated;
  for (const auto& [forked, tail] : tails_) {
    if (!graph_->Includes(tails_.at(origin_), tail)) return kUnjoined;
  }
  *graph = std::move(graph_);
  return 0;
}

}  // namespace spillway::testing
