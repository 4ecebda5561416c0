// Nodes that a message names all at once, by op, so that a user does not find
// out one op at a time.
#ifndef SPILLWAY_GRAPH_BUILDER_OP_TALLY_H_
#define SPILLWAY_GRAPH_BUILDER_OP_TALLY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace spillway {

class OpTally {
 public:
  struct Entry {
    std::string op = {};
    std::string why = {};  // empty: it is the op itself
    int64_t count = 0;
    std::string first_node = {};
  };

  // Nodes of one op that have different reasons are counted apart.
  void Add(const std::string& op, const std::string& node,
           const std::string& why = {});

  bool is_empty() const { return entries_.empty(); }
  // Most frequent first; then as they were added.
  std::vector<Entry> Sorted() const;
  // "NonZero (2, first a/NonZero), MaxPool (1, first pool1: dilations)", in
  // that order.
  std::string ToString() const;

 private:
  std::vector<Entry> entries_;  // few: one for an op and a reason
};

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_BUILDER_OP_TALLY_H_
