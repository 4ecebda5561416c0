// The texts of the manual page that are not part of a flag's definition.
#ifndef SPILLWAY_TOOLS_SPILLWAY_MANUAL_MAN_PAGE_PROSE_H_
#define SPILLWAY_TOOLS_SPILLWAY_MANUAL_MAN_PAGE_PROSE_H_

#include <span>
#include <string_view>

namespace spillway {

// A term and its meaning: a file or an environment variable.
struct ManPageTerm {
  std::string_view term = {};
  std::string_view meaning = {};
};

struct ManPageExample {
  std::string_view purpose = {};
  std::string_view command = {};  // one line for a shell
};

std::span<const std::string_view> ManPageDescription();  // paragraphs
std::span<const ManPageTerm> ManPageFiles();
std::span<const ManPageTerm> ManPageEnvironment();
std::span<const ManPageExample> ManPageExamples();

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_MANUAL_MAN_PAGE_PROSE_H_
