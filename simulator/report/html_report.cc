#include "simulator/report/html_report.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "simulator/report/page_assets.h"
#include "simulator/report/report_data.h"

namespace spillway {
namespace {

// `text` with each of these characters replaced by the text paired with it.
template <size_t kCount>
std::string Escape(
    std::string_view text,
    const std::array<std::pair<char, std::string_view>, kCount>& escapes) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    std::string_view written(&c, 1);
    for (const auto& [special, instead] : escapes) {
      if (c == special) written = instead;
    }
    escaped += written;
  }
  return escaped;
}

std::string EscapeHtml(std::string_view text) {
  return Escape<4>(
      text, {{{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}}});
}

// For a script element, in which nothing may look like a tag. In JSON these
// characters occur only in strings, which allow these escapes.
std::string EscapeJson(std::string_view json) {
  return Escape<3>(json,
                   {{{'&', "\\u0026"}, {'<', "\\u003c"}, {'>', "\\u003e"}}});
}

// The page with each {{mark}} replaced; the inserted text is not searched.
std::string FillIn(
    std::string_view page,
    const std::vector<std::pair<std::string_view, std::string>>& marks) {
  std::string filled;
  for (const auto& [mark, text] : marks) {
    const size_t at = page.find(mark);
    SPILLWAY_CHECK(at !=
                   std::string_view::npos);  // marks are in the page's order
    filled += page.substr(0, at);
    filled += text;
    page.remove_prefix(at + mark.size());
  }
  return filled += page;
}

absl::Status CheckIsThere(const void* part, const char* name) {
  if (part != nullptr) return absl::OkStatus();
  return InvalidArgument(fmt::format("a report needs its {}", name));
}

absl::Status CheckParts(const HtmlReport& report) {
  SPILLWAY_RETURN_IF_ERROR(CheckIsThere(report.graph, "graph"));
  SPILLWAY_RETURN_IF_ERROR(CheckIsThere(report.plan, "plan"));
  SPILLWAY_RETURN_IF_ERROR(CheckIsThere(report.predicted, "predicted step"));
  if (!report.measured) return absl::OkStatus();
  return CheckIsThere(report.measured->timeline, "measured timeline");
}

}  // namespace

absl::StatusOr<std::string> FormatHtmlReport(const HtmlReport& report) {
  SPILLWAY_RETURN_IF_ERROR(CheckParts(report));
  const std::string data =
      ReportData(report).dump(-1, ' ', false, Json::error_handler_t::replace);
  return FillIn(kPageHtml, {{"{{title}}", EscapeHtml(report.title)},
                            {"{{style}}", std::string(kPageStyle)},
                            {"{{heading}}", EscapeHtml(report.title)},
                            {"{{data}}", EscapeJson(data)},
                            {"{{script}}", std::string(kPageScript)}});
}

}  // namespace spillway
