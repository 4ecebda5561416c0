// A Gloo context whose waits end when the connection that they need is lost.
#ifndef SPILLWAY_COMM_GLOO_CONTEXT_H_
#define SPILLWAY_COMM_GLOO_CONTEXT_H_

#include <gloo/rendezvous/context.h>

namespace spillway {

// If a connection is lost, Gloo's tcp transport ends the waits for messages
// that have not begun, but forgets the message that is on its way: who waits
// for its other half waits until the timeout. A thread of this context notices
// lost connections and ends those waits too, with a gloo::IoException, at the
// latest two seconds later.
class GlooContext final : public gloo::rendezvous::Context {
 public:
  using gloo::rendezvous::Context::Context;

  // Once, after connectFullMesh and before the first collective. The thread has
  // the signal mask of the caller.
  void WatchConnections();
};

}  // namespace spillway

#endif  // SPILLWAY_COMM_GLOO_CONTEXT_H_
