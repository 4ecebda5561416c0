#include "comm/rendezvous/handshake.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/status_macros.h"

namespace spillway {
namespace {

enum Line : uint8_t { kRank, kSize, kHost, kRunId, kVersion, kLines };

std::string HostName() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown host";
  return name.data();
}

// Missing lines are empty, so a greeting of another program is different.
std::array<std::string, kLines> SplitLines(std::string_view text) {
  std::array<std::string, kLines> lines;
  for (std::string& line : lines) {
    line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return lines;
}

}  // namespace

std::string EncodeGreeting(const RankIdentity& identity) {
  std::string run_id = identity.run_id;
  std::ranges::replace(run_id, '\n', ' ');
  return fmt::format("{}\n{}\n{}\n{}\n{}", identity.rank, identity.size,
                     HostName(), run_id, SPILLWAY_VERSION);
}

absl::Status CompareGreetings(std::string_view mine, std::string_view other,
                              int rank) {
  constexpr std::array<const char*, kLines> kNames = {
      "rank", "number of ranks", "host", "run id", "version of Spillway"};
  const auto here = SplitLines(mine);
  auto expected = here;
  expected[kRank] = fmt::format("{}", rank);
  const auto there = SplitLines(other);
  for (const Line line : {kRank, kSize, kRunId, kVersion}) {
    if (there[line] == expected[line]) continue;
    return absl::AbortedError(fmt::format(
        "the {} is '{}' for rank {} on {}, but '{}' for rank {} on {}",
        kNames[line], expected[line], here[kRank], here[kHost], there[line],
        rank, there[kHost]));
  }
  return absl::OkStatus();
}

absl::Status DuplicateRank(std::string_view mine, std::string_view other) {
  const auto here = SplitLines(mine);
  const auto there = SplitLines(other);
  return absl::AbortedError(fmt::format(
      "rank {} on {} has come before this rank {} on {}: a rank "
      "was started twice, or run id '{}' was used before",
      there[kRank], there[kHost], here[kRank], here[kHost], here[kRunId]));
}

}  // namespace spillway
