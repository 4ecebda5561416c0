#include "base/counted.h"

#include "fmt/format.h"

namespace spillway {

std::string CountedNoun(int64_t count, std::string_view noun,
                        std::string_view plural) {
  const std::string singular(noun);
  if (count == 1) return fmt::format("1 {}", singular);
  return plural.empty() ? fmt::format("{} {}s", count, singular)
                        : fmt::format("{} {}", count, std::string(plural));
}

}  // namespace spillway
