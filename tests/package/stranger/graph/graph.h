// The user's own graph, not Spillway's.
#ifndef STRANGER_GRAPH_GRAPH_H_
#define STRANGER_GRAPH_GRAPH_H_

struct Graph {
  int bars = 3;
};

#endif  // STRANGER_GRAPH_GRAPH_H_
