#include "tools/spillway/output/buffer_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

enum Column : size_t { kId, kLower, kUpper, kSize, kGaps, kOffset };
constexpr std::array<std::string_view, 6> kColumnNames = {
    "id", "lower", "upper", "size", "gaps", "offset"};
constexpr std::array<Column, 4> kNeededColumns = {kId, kLower, kUpper, kSize};

constexpr int64_t kMaxTotalBytes = int64_t{1} << 60;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// "a,b,," -> "a", "b", "", "".
std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end = 0; end != std::string_view::npos;) {
    end = text.find(separator);
    parts.push_back(Trim(text.substr(0, end)));
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
  return parts;
}

std::optional<int64_t> ParseNumber(std::string_view text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  if (number < 0 || number > kMaxTotalBytes) return std::nullopt;
  return number;
}

class Parser {
 public:
  explicit Parser(std::string_view path) : path_(path) {}

  absl::StatusOr<BufferTable> Parse(std::string_view text) && {
    for (const std::string_view line : SplitAt(text, '\n')) {
      ++line_;
      if (line.empty()) continue;
      SPILLWAY_RETURN_IF_ERROR(columns_.empty() ? ReadHeader(line)
                                                : ReadBuffer(line));
    }
    if (columns_.empty()) return Error("there is no line of column names");
    return std::move(table_);
  }

 private:
  absl::Status Error(std::string_view what) const {
    return InvalidArgument(fmt::format("{}, line {}: {}", path_, line_, what));
  }

  absl::Status ReadHeader(std::string_view line) {
    for (const std::string_view name : SplitAt(line, ',')) {
      const auto found = std::ranges::find(kColumnNames, name);
      if (found == kColumnNames.end()) {
        return Error(fmt::format(
            "unknown column \"{}\"; known: id, lower, upper, size, gaps",
            name));
      }
      const auto column = static_cast<Column>(found - kColumnNames.begin());
      if (HasColumn(column)) {
        return Error(fmt::format("two columns \"{}\"", name));
      }
      columns_.push_back(column);
    }
    for (const Column column : kNeededColumns) {
      if (HasColumn(column)) continue;
      return Error(fmt::format("no column \"{}\"", kColumnNames[column]));
    }
    table_.has_gaps = HasColumn(kGaps);
    return absl::OkStatus();
  }

  bool HasColumn(Column column) const {
    return std::ranges::find(columns_, column) != columns_.end();
  }

  absl::Status ReadBuffer(std::string_view line) {
    const std::vector<std::string_view> fields = SplitAt(line, ',');
    if (fields.size() != columns_.size()) {
      return Error(fmt::format("{}, but {}", Counted(fields.size(), "field"),
                               Counted(columns_.size(), "column")));
    }
    std::array<std::string_view, kColumnNames.size()> field_of;
    for (size_t i = 0; i < fields.size(); ++i) {
      field_of[columns_[i]] = fields[i];
    }
    SPILLWAY_RETURN_IF_ERROR(ReadId(field_of[kId]));
    PackingItem item;
    SPILLWAY_ASSIGN_OR_RETURN(item.lifetime.begin,
                              ReadNumber(kLower, field_of[kLower]));
    SPILLWAY_ASSIGN_OR_RETURN(item.lifetime.end,
                              ReadNumber(kUpper, field_of[kUpper]));
    if (item.lifetime.empty()) {
      return Error(fmt::format("upper: {} is not above lower, {}",
                               item.lifetime.end, item.lifetime.begin));
    }
    SPILLWAY_ASSIGN_OR_RETURN(item.bytes, ReadNumber(kSize, field_of[kSize]));
    total_bytes_ += item.bytes;
    if (total_bytes_ > kMaxTotalBytes) {
      return Error("size: all together are more than 2^60 bytes");
    }
    SPILLWAY_RETURN_IF_ERROR(ReadGaps(field_of[kGaps], item));
    table_.items.push_back(std::move(item));
    return absl::OkStatus();
  }

  absl::Status ReadId(std::string_view text) {
    if (text.empty()) return Error("id: is empty");
    if (text.find('"') != std::string_view::npos) {
      return Error("id: quotes are not understood");
    }
    if (!ids_.insert(std::string(text)).second) {
      return Error(fmt::format("id: \"{}\" is there twice", text));
    }
    table_.ids.emplace_back(text);
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> ReadNumber(Column column,
                                     std::string_view text) const {
    if (const std::optional<int64_t> number = ParseNumber(text)) {
      return *number;
    }
    return Error(fmt::format("{}: \"{}\" is not an integer from 0 to 2^60",
                             kColumnNames[column], text));
  }

  absl::Status ReadGaps(std::string_view text, PackingItem& item) const {
    int64_t end = item.lifetime.begin;  // of the previous gap
    for (const std::string_view word : SplitAt(text, ' ')) {
      if (word.empty()) continue;
      const std::optional<Interval> gap = ParseGap(word);
      if (!gap) {
        return Error(
            fmt::format("gaps: \"{}\" is not lower-upper, as in 3-5", word));
      }
      if (gap->begin < end || gap->end > item.lifetime.end) {
        return Error(fmt::format(
            "gaps: {} must be inside the lifetime and after the gap before it",
            word));
      }
      end = gap->end;
      item.gaps.push_back(*gap);
    }
    return absl::OkStatus();
  }

  static std::optional<Interval> ParseGap(std::string_view text) {
    const std::vector<std::string_view> ends = SplitAt(text, '-');
    if (ends.size() != 2) return std::nullopt;
    const std::optional<int64_t> begin = ParseNumber(ends[0]);
    const std::optional<int64_t> end = ParseNumber(ends[1]);
    if (!begin || !end || *begin >= *end) return std::nullopt;
    return Interval{*begin, *end};
  }

  const std::string_view path_;
  int64_t line_ = 0;
  std::vector<Column> columns_;  // in the order of the file
  std::set<std::string> ids_;
  int64_t total_bytes_ = 0;
  BufferTable table_;
};

std::string FormatGaps(std::span<const Interval> gaps) {
  std::string text;
  for (const Interval& gap : gaps) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", gap.begin, gap.end);
  }
  return text;
}

}  // namespace

absl::StatusOr<BufferTable> ParseBuffers(std::string_view text,
                                         std::string_view path) {
  return Parser(path).Parse(text);
}

std::string FormatPlacement(const BufferTable& table,
                            std::span<const int64_t> offsets) {
  std::string text = "id,lower,upper,size,offset";
  text += table.has_gaps ? ",gaps\n" : "\n";
  for (size_t i = 0; i < offsets.size(); ++i) {
    const PackingItem& item = table.items[i];
    text += fmt::format("{},{},{},{},{}", table.ids[i], item.lifetime.begin,
                        item.lifetime.end, item.bytes, offsets[i]);
    text += table.has_gaps ? fmt::format(",{}\n", FormatGaps(item.gaps)) : "\n";
  }
  return text;
}

}  // namespace spillway
