#include "tests/comm/conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "tests/support/test_size.h"

namespace spillway::testing {
namespace {

// 2^20 + 3 floats: more than one piece of a ring. Sanitizers are slow.
constexpr int64_t kLarge = kHasSanitizer ? (1 << 14) + 3 : (1 << 20) + 3;
constexpr int64_t kCounts[] = {0, 1, 2, 7, 1000, kLarge};

template <typename T>
T FromInteger(int64_t value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return ToBFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, Float16>) {
    return ToFloat16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
double ToNumber(T value) {
  if constexpr (sizeof(T) == 2) {
    return static_cast<double>(ToFloat(value));
  } else {
    return static_cast<double>(value);
  }
}

// Small integers, which all types hold exactly, as they do their sums.
int64_t ElementOf(int rank, int64_t i) { return (rank + 1) * (1 + i % 5); }

int64_t Expected(ReduceOp op, int size, int64_t i) {
  switch (op) {
    case ReduceOp::kSum:
      return size * (size + 1) / 2 * (1 + i % 5);
    case ReduceOp::kMax:
      return ElementOf(size - 1, i);
    case ReduceOp::kMin:
      return ElementOf(0, i);
  }
  return 0;
}

template <typename T>
absl::Status CheckAllReduce(Communicator& communicator, DType dtype) {
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin}) {
    for (const int64_t count : kCounts) {
      std::vector<T> data;
      for (int64_t i = 0; i < count; ++i) {
        data.push_back(FromInteger<T>(ElementOf(communicator.rank(), i)));
      }
      SPILLWAY_RETURN_IF_ERROR(
          communicator.AllReduce(data.data(), count, dtype, op));
      for (int64_t i = 0; i < count; ++i) {
        const double got = ToNumber(data[static_cast<size_t>(i)]);
        const auto expected =
            static_cast<double>(Expected(op, communicator.size(), i));
        if (got == expected) continue;
        return Internal(fmt::format("{} of {} {}, element {}: {} instead of {}",
                                    ReduceOpName(op), count, DTypeName(dtype),
                                    i, got, expected));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBroadcast(Communicator& communicator) {
  for (int root = 0; root < communicator.size(); ++root) {
    for (const int64_t bytes : kCounts) {
      std::vector<unsigned char> data(
          static_cast<size_t>(bytes),
          static_cast<unsigned char>(communicator.rank()));
      SPILLWAY_RETURN_IF_ERROR(
          communicator.Broadcast(data.data(), bytes, root));
      const auto right = std::ranges::count(data, root);
      if (right == bytes) continue;
      return Internal(
          fmt::format("broadcast from {}: {} of {} bytes", root, right, bytes));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAllGather(Communicator& communicator) {
  for (const int64_t bytes : kCounts) {
    const std::vector<unsigned char> in(
        static_cast<size_t>(bytes),
        static_cast<unsigned char>(communicator.rank() + 1));
    std::vector<unsigned char> out(in.size() *
                                   static_cast<size_t>(communicator.size()));
    SPILLWAY_RETURN_IF_ERROR(
        communicator.AllGather(in.data(), out.data(), bytes));
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t expected = i / in.size() + 1;
      if (out[i] == expected) continue;
      return Internal(
          fmt::format("all-gather of {} bytes, byte {}: {} instead "
                      "of {}",
                      bytes, i, out[i], expected));
    }
  }
  return absl::OkStatus();
}

std::string TextOf(int rank) {
  return std::string(static_cast<size_t>(37 * rank), 'x') +
         std::to_string(rank);
}

absl::Status CheckTexts(Communicator& communicator) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::vector<std::string> texts,
      communicator.AllGatherText(TextOf(communicator.rank())));
  for (int rank = 0; rank < communicator.size(); ++rank) {
    if (texts.at(static_cast<size_t>(rank)) == TextOf(rank)) continue;
    return Internal(
        fmt::format("all-gather of texts: another one of rank {}", rank));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCollectives(Communicator& communicator) {
  SPILLWAY_RETURN_IF_ERROR(
      CheckAllReduce<float>(communicator, DType::kFloat32));
  SPILLWAY_RETURN_IF_ERROR(
      CheckAllReduce<BFloat16>(communicator, DType::kBFloat16));
  SPILLWAY_RETURN_IF_ERROR(
      CheckAllReduce<Float16>(communicator, DType::kFloat16));
  SPILLWAY_RETURN_IF_ERROR(
      CheckAllReduce<int32_t>(communicator, DType::kInt32));
  SPILLWAY_RETURN_IF_ERROR(
      CheckAllReduce<int64_t>(communicator, DType::kInt64));
  SPILLWAY_RETURN_IF_ERROR(
      CheckAllReduce<uint8_t>(communicator, DType::kUInt8));
  SPILLWAY_RETURN_IF_ERROR(CheckBroadcast(communicator));
  SPILLWAY_RETURN_IF_ERROR(CheckAllGather(communicator));
  SPILLWAY_RETURN_IF_ERROR(CheckTexts(communicator));
  return communicator.Barrier();
}

absl::Status CheckSameBits(Communicator& communicator, bool is_ordered) {
  constexpr int64_t kCount = 10'007;
  const auto element = [](int rank, int64_t i) {
    const auto bits =
        Philox4x32(static_cast<uint64_t>(rank), static_cast<uint64_t>(i));
    return UniformFloat(bits[0]) - 0.5F;
  };
  std::vector<float> sum;
  std::vector<float> expected;
  for (int64_t i = 0; i < kCount; ++i) {
    sum.push_back(element(communicator.rank(), i));
    expected.push_back(element(0, i));
    for (int rank = 1; rank < communicator.size(); ++rank) {
      expected.back() += element(rank, i);
    }
  }
  SPILLWAY_RETURN_IF_ERROR(
      communicator.AllReduce(sum.data(), kCount, DType::kFloat32));
  std::vector<float> all(sum.size() * static_cast<size_t>(communicator.size()));
  SPILLWAY_RETURN_IF_ERROR(communicator.AllGather(
      sum.data(), all.data(), kCount * static_cast<int64_t>(sizeof(float))));
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t at = i % sum.size();
    if (all[i] != sum[at]) {
      return Internal(fmt::format("element {}: {} on rank {}, {} on rank {}",
                                  at, all[i], i / sum.size(), sum[at],
                                  communicator.rank()));
    }
    const float error = std::abs(sum[at] - expected[at]);
    if (is_ordered ? error != 0 : error > 1e-5F) {
      return Internal(
          fmt::format("element {}: {}, but the sum in the order of the ranks "
                      "is {}",
                      at, sum[at], expected[at]));
    }
  }
  return absl::OkStatus();
}

}  // namespace spillway::testing
