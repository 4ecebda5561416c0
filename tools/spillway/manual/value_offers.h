// What completion offers for a value, derived from the way in which --help
// writes the value:
//
//   off|auto|v1|v2   these words: those without a capital letter
//   FILE, FOLDER     files, folders
//   MODEL            names of the zoo
//   POLICY           names of the classic policies
//   PROFILE          names of shipped device profiles
//   PASS,...         names of graph passes
//   TEXT, A,B,...    files, the default of a shell
//   other            nothing: N, X, SIZE
//
// `|` joins several of these: PROFILE|FILE.
#ifndef SPILLWAY_TOOLS_SPILLWAY_MANUAL_VALUE_OFFERS_H_
#define SPILLWAY_TOOLS_SPILLWAY_MANUAL_VALUE_OFFERS_H_

#include <string>
#include <vector>

namespace spillway {

struct ValueOffers {
  std::vector<std::string> words = {};
  bool files = false;
  bool folders = false;

  bool operator==(const ValueOffers&) const = default;
};
ValueOffers OffersOf(const std::string& value);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_MANUAL_VALUE_OFFERS_H_
