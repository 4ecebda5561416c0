// The manual page spillway(1), as roff for the macros of man(7).
#ifndef SPILLWAY_TOOLS_SPILLWAY_MANUAL_MAN_PAGE_H_
#define SPILLWAY_TOOLS_SPILLWAY_MANUAL_MAN_PAGE_H_

#include <string>
#include <string_view>

#include "tools/spillway/manual/program_manual.h"

namespace spillway {

// Commands, flags and exit statuses come from `program`; the other texts come
// from man_page_prose.h. The page has no date, so that its bytes depend only on
// the program.
std::string FormatManPage(const ProgramManual& program);

// Escapes `text` such that roff prints it literally, at any position in a line.
std::string RoffEscaped(std::string_view text);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_MANUAL_MAN_PAGE_H_
