#include "lms/v2/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

absl::Status BadItem(std::string_view item) {
  return InvalidArgument(
      fmt::format("lms_serialization: \"{}\" is neither a level nor a slice "
                  "begin:end or begin:end:step (without end; step not 0)",
                  item));
}

// Parses the whole of `text`: one optional sign and digits.
std::optional<int64_t> ParseInteger(std::string_view text) {
  if (text.starts_with("+") && !text.starts_with("+-")) text.remove_prefix(1);
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.begin(), text.end(), number, 10);
  constexpr int64_t kMost = int64_t{1} << 62;  // a slice may add one
  if (error != std::errc() || end != text.end()) return std::nullopt;
  if (number > kMost || number < -kMost) return std::nullopt;
  return number;
}

std::vector<std::string_view> SplitAtColons(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':', begin)) {
    parts.push_back(Trim(text.substr(begin, colon - begin)));
    begin = colon + 1;
  }
  parts.push_back(Trim(text.substr(begin)));
  return parts;
}

// A bound of a slice within [least, most], counted from the end if negative.
int64_t Resolve(int64_t bound, int64_t num_levels, int64_t least,
                int64_t most) {
  if (bound < 0) bound += num_levels;
  return std::clamp(bound, least, most);
}

absl::Status CheckTunable(std::string_view name, int64_t value, int64_t least) {
  if (value != -1 && value < least) {
    return InvalidArgument(
        fmt::format("{}: {} is neither -1 (to be tuned) nor at least {}", name,
                    value, least));
  }
  return CheckIsBelowMost(name, value);
}

absl::Status CheckIsGiven(std::string_view name, int64_t value) {
  if (value != -1) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "{}: is -1, to be tuned; an edit without tuning needs a value "
      "(spillway tune finds one)",
      name));
}

absl::Status CheckSerialization(const LmsOptions& options) {
  for (const std::string& item : options.v2.serialization) {
    SPILLWAY_RETURN_IF_ERROR(ParseLevelSlice(item, options.compat).status());
  }
  const double size = options.v2.serialization_by_size_gib;
  if (!std::isfinite(size) || size < 0) {
    return InvalidArgument(fmt::format(
        "lms_serialization_by_size: {} GiB is not a size of 0 or more", size));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<int64_t> LevelSlice::Levels(int64_t num_levels) const {
  std::vector<int64_t> levels;
  if (step > 0) {
    const int64_t first = Resolve(begin.value_or(0), num_levels, 0, num_levels);
    const int64_t last =
        Resolve(end.value_or(num_levels), num_levels, 0, num_levels);
    for (int64_t at = first; at < last; at += std::min(step, last - at)) {
      levels.push_back(at);
    }
    return levels;
  }
  const int64_t top = num_levels - 1;
  const int64_t first = Resolve(begin.value_or(top), num_levels, -1, top);
  const int64_t last = end ? Resolve(*end, num_levels, -1, top) : -1;
  for (int64_t at = first; at > last; at += std::max(step, last - at)) {
    levels.push_back(at);
  }
  return levels;
}

absl::StatusOr<LevelSlice> ParseLevelSlice(std::string_view item, bool compat) {
  const std::vector<std::string_view> parts = SplitAtColons(item);
  if (parts.size() > 3) return BadItem(item);
  std::vector<std::optional<int64_t>> numbers;
  for (const std::string_view part : parts) {
    numbers.push_back(ParseInteger(part));
    const bool may_be_empty = parts.size() > 1;
    if (!numbers.back() && !(part.empty() && may_be_empty)) {
      return BadItem(item);
    }
  }
  if (parts.size() == 1) {
    const int64_t level = *numbers[0];
    if (level == -1 && !compat) return LevelSlice{.begin = -1};
    return LevelSlice{.begin = level, .end = level + 1};
  }
  LevelSlice slice{.begin = numbers[0], .end = numbers[1]};
  if (parts.size() == 3) slice.step = numbers[2].value_or(1);
  if (slice.step == 0) return BadItem(item);
  return slice;
}

bool SyncsSwapIns(const LmsOptions& options) {
  return options.v2.sync_mode >= 2;
}

bool SyncsSwapOuts(const LmsOptions& options) {
  return options.v2.sync_mode == 1 || options.v2.sync_mode == 3;
}

absl::Status CheckV2Options(const LmsOptions& options) {
  const LmsV2Options& v2 = options.v2;
  SPILLWAY_RETURN_IF_ERROR(
      CheckTunable("lms_swapout_threshold", v2.swapout_threshold, 1));
  SPILLWAY_RETURN_IF_ERROR(
      CheckTunable("lms_swapin_ahead", v2.swapin_ahead, 1));
  SPILLWAY_RETURN_IF_ERROR(
      CheckTunable("lms_swapin_groupby", v2.swapin_groupby, 0));
  if (v2.sync_mode < 0 || v2.sync_mode > 3) {
    return InvalidArgument(
        fmt::format("lms_sync_mode: {} is not 0, 1, 2 or 3", v2.sync_mode));
  }
  return CheckSerialization(options);
}

absl::Status CheckV2NumbersAreGiven(const LmsOptions& options) {
  const LmsV2Options& v2 = options.v2;
  SPILLWAY_RETURN_IF_ERROR(
      CheckIsGiven("lms_swapout_threshold", v2.swapout_threshold));
  if (SyncsSwapIns(options)) return absl::OkStatus();  // the others are unused
  SPILLWAY_RETURN_IF_ERROR(CheckIsGiven("lms_swapin_ahead", v2.swapin_ahead));
  return CheckIsGiven("lms_swapin_groupby", v2.swapin_groupby);
}

}  // namespace spillway
