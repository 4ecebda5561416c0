// Counts in messages: "1 node", "2 nodes".
#ifndef SPILLWAY_BASE_COUNTED_H_
#define SPILLWAY_BASE_COUNTED_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace spillway {

// The number, and the noun in the form that belongs to it. `plural`: the
// noun's plural; empty: the noun with an "s".
std::string CountedNoun(int64_t count, std::string_view noun,
                        std::string_view plural = {});

template <std::integral Count>
std::string Counted(Count count, std::string_view noun,
                    std::string_view plural = {}) {
  return CountedNoun(static_cast<int64_t>(count), noun, plural);
}

}  // namespace spillway

#endif  // SPILLWAY_BASE_COUNTED_H_
