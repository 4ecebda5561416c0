#include "tests/lms/tflms/naive_tflms.h"

#include <algorithm>

namespace spillway::testing {

NaiveTflms::NaiveTflms(const Graph& graph, const LmsOptions& options,
                       Limits limits)
    : NaiveV2(graph, options, nullptr), limits_(limits) {}

void NaiveTflms::Play() {
  Prepare();
  int top = -1;
  for (const auto& [op, level] : levels_) top = std::max(top, level);
  num_levels_ = top + 1;  // after serialization
  for (int level = 0; level <= top; ++level) {
    ReleaseAll();
    for (const int op : OpsOfLevel(level)) {
      if (inactive_.contains(op) || ops_[op].trainable) continue;
      now_ = op;
      if (!ops_[op].on_cpu) Execute(op);
      has_run_.insert(op);
      EndCopiesOut(op);
      ReleaseAll();
      for (const Record& record : hung_[op]) BringBack(record);
    }
  }
}

// Ends the swap-outs of tensors whose latest near reader has run.
void NaiveTflms::EndCopiesOut(int op) {
  for (const auto& [tensor, latest] : latest_) {
    if (latest != op) continue;
    const auto held = memory_.find({tensor.first, tensor.second, 0});
    if (held != memory_.end() && held->second.count > 0) --held->second.count;
  }
}

void NaiveTflms::Execute(int op) {
  const std::set<Tensor> inputs = InputsOf(op);
  for (const Tensor& input : inputs) {
    const Buffer buffer = BufferFor(op, input);
    if (!memory_.contains(buffer)) {
      Alloc(buffer, static_cast<int64_t>(ConsumersOf(input).size()));
    }
  }
  const int num_outputs = static_cast<int>(ops_[op].bytes.size());
  for (int output = 0; output < num_outputs; ++output) {
    const auto readers = OnGpu(ConsumersOf({op, output}));
    if (readers.empty()) continue;
    Alloc({op, output, 0}, static_cast<int64_t>(readers.size()));
  }
  for (const Tensor& input : inputs) --memory_.at(BufferFor(op, input)).count;
  if (!sources_.contains(op)) return;
  for (int output = 0; output < num_outputs; ++output) Plan(op, {op, output});
}

void NaiveTflms::Plan(int op, const Tensor& tensor) {
  if (ops_[op].ranks[tensor.second] <= 1) return;
  if (SizeOf(tensor) < options_.size_threshold_bytes) return;
  std::set<int> far;
  int latest = op;
  int latest_level = -1;
  for (const int reader : ConsumersOf(tensor)) {
    if (Level(reader) - Level(op) > options_.v2.swapout_threshold &&
        readers_.contains(reader)) {
      far.insert(reader);
    } else if (!inactive_.contains(reader) && Level(reader) > latest_level) {
      latest = reader;
      latest_level = Level(reader);
    }
  }
  if (far.empty()) return;
  Held& held = memory_.at({op, tensor.second, 0});
  held.count -= static_cast<int64_t>(far.size());
  const bool async_out =
      options_.v2.sync_mode == 0 || options_.v2.sync_mode == 2;
  if (async_out && held.count > 0 && num_levels_ - Level(latest) > 1) {
    ++held.count;
    latest_[tensor] = latest;
  }
  const std::vector<std::set<int>> groups = GroupBy(far);
  for (const std::set<int>& group : groups) {
    const Buffer alias = {op, tensor.second, ++num_copies_};
    int first = *group.begin();
    for (const int reader : group) {
      if (Level(reader) < Level(first)) first = reader;
      alias_[{reader, tensor}] = alias;
    }
    const int start = StartOf(op, first);
    if (start < 0 || has_run_.contains(start) || ops_[start].trainable ||
        inactive_.contains(start)) {
      ++never_started;
    } else {
      hung_[start].push_back({alias, static_cast<int>(group.size())});
    }
  }
  host_[tensor] = static_cast<int>(groups.size());
  int64_t used = 0;
  for (const auto& [copied, count] : host_) used += SizeOf(copied);
  // Fails if the tensor is not smaller than the bytes that were free before.
  if (SizeOf(tensor) >= limits_.host_bytes - (used - SizeOf(tensor))) {
    host_warning = true;
  }
  peak_host_bytes = std::max(peak_host_bytes, used);
}

int NaiveTflms::StartOf(int op, int reader) {
  const auto ahead = static_cast<int>(options_.v2.swapin_ahead);
  if (options_.v2.sync_mode == 0 || options_.v2.sync_mode == 1) {
    const std::set<int> found = FindControls(op, reader, ahead);
    if (!found.empty()) return *found.begin();
    ++missing;
  }
  int start = -1;
  for (const int producer : Producers(reader)) {
    if (producer == op) continue;
    if (start < 0 || Level(producer) > Level(start)) start = producer;
  }
  if (start >= 0 || ahead == 1) return start;
  const std::set<int> found = FindControls(op, reader, 1);
  return found.empty() ? -1 : *found.begin();
}

void NaiveTflms::BringBack(const Record& record) {
  const auto [op, output, copy] = record.alias;
  Alloc(record.alias, record.num_readers);
  if (--host_.at({op, output}) == 0) host_.erase({op, output});
}

std::set<int> NaiveTflms::ConsumersOf(const Tensor& tensor) const {
  std::set<int> consumers;
  for (int op = 0; op < static_cast<int>(ops_.size()); ++op) {
    const auto& inputs = ops_[op].inputs;
    if (std::count(inputs.begin(), inputs.end(), tensor) > 0) {
      consumers.insert(op);
    }
  }
  return consumers;
}

int64_t NaiveTflms::SizeOf(const Tensor& tensor) const {
  return ops_[tensor.first].bytes[tensor.second];
}

std::set<NaiveTflms::Tensor> NaiveTflms::InputsOf(int op) const {
  std::set<Tensor> inputs;
  for (const Tensor& input : ops_[op].inputs) {
    if (!inactive_.contains(input.first)) inputs.insert(input);
  }
  return inputs;
}

// The copy for the op if it exists, else the tensor itself.
NaiveTflms::Buffer NaiveTflms::BufferFor(int op, const Tensor& tensor) const {
  const auto alias = alias_.find({op, tensor});
  if (alias != alias_.end() && memory_.contains(alias->second)) {
    return alias->second;
  }
  return {tensor.first, tensor.second, 0};
}

void NaiveTflms::Alloc(const Buffer& buffer, int64_t count) {
  int64_t used = 0;
  for (const auto& [other, held] : memory_) used += held.size;
  const Tensor tensor = {std::get<0>(buffer), std::get<1>(buffer)};
  const int64_t size = SizeOf(tensor);
  if (size >= limits_.device_bytes - used && passed) {
    passed = false;
    failed_op = now_;
    failed_tensor = tensor;
  }
  memory_[buffer] = {size, count};
  peak_device_bytes = std::max(peak_device_bytes, used + size);
}

void NaiveTflms::ReleaseAll() {
  std::erase_if(memory_,
                [](const auto& item) { return item.second.count == 0; });
}

}  // namespace spillway::testing
