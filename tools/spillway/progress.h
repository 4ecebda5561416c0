// One line on stderr that is overwritten as work goes on, for people who watch:
// nothing is written unless stderr is a terminal.
#ifndef SPILLWAY_TOOLS_SPILLWAY_PROGRESS_H_
#define SPILLWAY_TOOLS_SPILLWAY_PROGRESS_H_

#include <string_view>

namespace spillway {

void ShowProgress(std::string_view text);
void ClearProgress();

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_PROGRESS_H_
