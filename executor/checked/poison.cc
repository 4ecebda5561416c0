#include "executor/checked/poison.h"

#include <algorithm>
#include <cstring>

namespace spillway {
namespace {

// Bytes compared at once.
constexpr size_t kBlock = 4096;

std::byte ByteAt(Pattern pattern, const std::byte* address) {
  const auto word = static_cast<uint16_t>(pattern);
  const bool is_odd = reinterpret_cast<uintptr_t>(address) % 2 != 0;
  return static_cast<std::byte>(is_odd ? word >> 8 : word & 0xFF);
}

// Compares the bytes with those two positions later.
bool IsAll(Pattern pattern, std::span<const std::byte> bytes) {
  const size_t head = std::min<size_t>(2, bytes.size());
  for (size_t i = 0; i < head; ++i) {
    if (bytes[i] != ByteAt(pattern, &bytes[i])) return false;
  }
  return std::memcmp(bytes.data(), bytes.data() + head, bytes.size() - head) ==
         0;
}

}  // namespace

void FillWith(Pattern pattern, std::span<std::byte> bytes) {
  const size_t head = std::min<size_t>(2, bytes.size());
  for (size_t i = 0; i < head; ++i) bytes[i] = ByteAt(pattern, &bytes[i]);
  for (size_t done = head; done < bytes.size();) {
    const size_t count = std::min(done, bytes.size() - done);
    std::memcpy(&bytes[done], bytes.data(), count);
    done += count;
  }
}

int64_t FirstOther(Pattern pattern, std::span<const std::byte> bytes) {
  for (size_t begin = 0; begin < bytes.size(); begin += kBlock) {
    const auto block =
        bytes.subspan(begin, std::min(kBlock, bytes.size() - begin));
    if (IsAll(pattern, block)) continue;
    size_t i = 0;
    while (block[i] == ByteAt(pattern, &block[i])) ++i;
    return static_cast<int64_t>(begin + i);
  }
  return static_cast<int64_t>(bytes.size());
}

int64_t FirstUsed(std::span<const std::byte> bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const auto rest = bytes.subspan(at);
    const int64_t run = std::max(FirstOther(Pattern::kPoison, rest),
                                 FirstOther(Pattern::kVirgin, rest));
    if (run == 0) break;
    at += static_cast<size_t>(run);
  }
  return static_cast<int64_t>(at);
}

int64_t EndOfOther(Pattern pattern, std::span<const std::byte> bytes) {
  size_t end = bytes.size();
  while (end > 0) {
    const size_t count = std::min(kBlock, end);
    if (!IsAll(pattern, bytes.subspan(end - count, count))) break;
    end -= count;
  }
  while (end > 0 && bytes[end - 1] == ByteAt(pattern, &bytes[end - 1])) --end;
  return static_cast<int64_t>(end);
}

}  // namespace spillway
