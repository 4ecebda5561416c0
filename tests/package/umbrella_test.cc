// The umbrella header, after macros and beside names that a user's program may
// have.
#define CHECK(condition) user_check(condition)
#define RETURN_IF_ERROR(expression) user_return_if_error(expression)
#define ASSIGN_OR_RETURN(declaration, expression) user_assign(declaration)
#define LOG(severity) user_log(severity)

#include "spillway/spillway.h"

#undef CHECK
#undef RETURN_IF_ERROR
#undef ASSIGN_OR_RETURN
#undef LOG

#include <utility>

#include "tests/support/status_matchers.h"

namespace {

TEST(Umbrella, BuildsAGraph) {
  spillway::GraphBuilder g(spillway::StandardOps(), "net");
  const spillway::Tensor x =
      g.Placeholder("x", spillway::DType::kFloat32, {2, 3});
  spillway::Dense(g.Scope("fc"), x, {.units = 4});
  ASSERT_OK_AND_ASSIGN(const spillway::Graph graph, std::move(g).Build());
  EXPECT_GT(graph.nodes().size(), 1u);
}

}  // namespace
