#include "base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <system_error>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

constexpr double kLargestSize = 0x1.0p62;

// Three significant digits, all digits before the point, no trailing zeros
// after it.
std::string FormatNumber(double value) {
  return std::abs(value) < 99.95 ? fmt::format("{:.3g}", value)
                                 : fmt::format("{:.0f}", value);
}

// `value` in the first of `units` in which it rounds to less than `base`, else
// in the last one. Each unit is `base` times the one before.
std::string FormatScaled(double value, double base,
                         std::span<const std::string_view> units) {
  size_t unit = 0;
  while (unit + 1 < units.size() && std::abs(value) >= base - 0.5) {
    value /= base;
    ++unit;
  }
  return fmt::format("{} {}", FormatNumber(value), units[unit]);
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

std::optional<int64_t> BytesOfUnit(std::string_view unit) {
  struct Unit {
    std::string_view name;
    int64_t bytes = 0;
  };
  constexpr int64_t kThousand = 1000;
  constexpr std::array<Unit, 14> kUnits = {{
      {"", 1},
      {"b", 1},
      {"kb", kThousand},
      {"mb", kThousand * kThousand},
      {"gb", kThousand * kThousand * kThousand},
      {"tb", kThousand * kThousand * kThousand * kThousand},
      {"kib", 1_KiB},
      {"mib", 1_MiB},
      {"gib", 1_GiB},
      {"tib", 1024_GiB},
      {"k", 1_KiB},
      {"m", 1_MiB},
      {"g", 1_GiB},
      {"t", 1024_GiB},
  }};
  const std::string lower = ToLower(unit);
  for (const Unit& candidate : kUnits) {
    if (candidate.name == lower) return candidate.bytes;
  }
  return std::nullopt;
}

absl::Status NotASize(std::string_view text) {
  return InvalidArgument(fmt::format(
      "\"{}\" is not a size; write 512MiB, 16GiB, 1.5GB or plain bytes", text));
}

}  // namespace

std::string FormatBytes(int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB",
                                                      "TiB"};
  return FormatScaled(static_cast<double>(bytes), 1024.0, kUnits);
}

std::string FormatDuration(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  constexpr int64_t kMinute = 60;
  if (ns >= 2 * kMinute * kSecond) {
    const int64_t seconds = ns / kSecond;
    const int64_t minutes = seconds / kMinute;
    return minutes < 2 * kMinute
               ? fmt::format("{} min {} s", minutes, seconds % kMinute)
               : fmt::format("{} h {} min", minutes / kMinute,
                             minutes % kMinute);
  }
  constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  return FormatScaled(static_cast<double>(ns), 1000.0, kUnits);
}

absl::StatusOr<int64_t> ParseBytes(std::string_view text) {
  const size_t number_size =
      std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, number_size);
  std::string_view unit = text.substr(number_size);
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const std::optional<int64_t> unit_bytes = BytesOfUnit(unit);
  if (!unit_bytes.has_value() || text.ends_with(' ')) return NotASize(text);

  // A long double holds every integer up to 2^64 exactly.
  long double value = 0.0L;
  const char* end = number.data() + number.size();
  const auto result = std::from_chars(number.data(), end, value);
  const bool is_number =
      result.ec == std::errc() || result.ec == std::errc::result_out_of_range;
  if (!is_number || result.ptr != end) return NotASize(text);
  if (unit.empty() && number.find('.') != number.npos) {
    return InvalidArgument(fmt::format(
        "\"{}\" has no unit; write {}GiB, or whole bytes", text, number));
  }
  const long double bytes = std::round(value * *unit_bytes);
  if (result.ec != std::errc() || bytes > kLargestSize) {
    return InvalidArgument(fmt::format("\"{}\" is more than 2^62 bytes", text));
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace spillway
