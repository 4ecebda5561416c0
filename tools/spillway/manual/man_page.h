// The manual page spillway(1), as roff for the macros of man(7).
#ifndef SPILLWAY_TOOLS_SPILLWAY_MANUAL_MAN_PAGE_H_
#define SPILLWAY_TOOLS_SPILLWAY_MANUAL_MAN_PAGE_H_

#include <string>
#include <string_view>

#include "tools/spillway/manual/program_manual.h"

namespace spillway {

// Commands, flags and exit statuses are those of `program`; the rest is that of
// man_page_prose.h. The page bears no date, so that its bytes depend on the
// program alone.
std::string FormatManPage(const ProgramManual& program);

// `text` such that roff prints just that, wherever it stands in a line.
std::string RoffEscaped(std::string_view text);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_MANUAL_MAN_PAGE_H_
