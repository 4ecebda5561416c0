// The files of page/ as they were at build time (CMakeLists.txt).
#ifndef SPILLWAY_SIMULATOR_REPORT_PAGE_ASSETS_H_
#define SPILLWAY_SIMULATOR_REPORT_PAGE_ASSETS_H_

#include <string_view>

namespace spillway {

extern const std::string_view kPageHtml;
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;  // all scripts, concatenated

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_REPORT_PAGE_ASSETS_H_
