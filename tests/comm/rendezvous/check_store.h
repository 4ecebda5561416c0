// What every KeyValueStore does.
#ifndef SPILLWAY_TESTS_COMM_RENDEZVOUS_CHECK_STORE_H_
#define SPILLWAY_TESTS_COMM_RENDEZVOUS_CHECK_STORE_H_

#include <chrono>
#include <string>

#include "comm/rendezvous/key_value_store.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace spillway::testing {

// Long enough for a busy machine.
inline KeyValueStore::Deadline Later() {
  return std::chrono::steady_clock::now() + std::chrono::minutes(2);
}

// Checks that "key" keeps its first value, whatever bytes that has. `a` and `b`
// are of one run; `place`: where the second value's error says that it is.
inline void CheckKeepsWhatIsSetFirst(KeyValueStore& a, KeyValueStore& b,
                                     const std::string& place) {
  const std::string bytes("\0\n\xff", 3);
  EXPECT_THAT(a.Set("key", bytes, Later()), IsOk());
  EXPECT_EQ(*b.Get("key", Later()), bytes);
  EXPECT_THAT(
      b.Set("key", "other", Later()),
      StatusIs(absl::StatusCode::kAlreadyExists, ::testing::HasSubstr(place)));
  EXPECT_EQ(*a.Get("key", Later()), bytes);
  EXPECT_EQ(*b.Get("key", Later()), bytes);
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_COMM_RENDEZVOUS_CHECK_STORE_H_
