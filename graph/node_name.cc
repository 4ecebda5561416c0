#include "graph/node_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status_macros.h"

namespace spillway {
namespace {

bool IsForbidden(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= ' ' || byte == 0x7f || c == ':';
}

}  // namespace

absl::Status CheckNodeName(std::string_view name) {
  if (name.empty()) return InvalidArgument("a node's name is empty");
  if (std::ranges::any_of(name, IsForbidden)) {
    return InvalidArgument(fmt::format(
        "the name {:?} has a colon, white space or a control character", name));
  }
  return absl::OkStatus();
}

}  // namespace spillway
