// The user's own JSON, not Spillway's.
#ifndef STRANGER_BASE_JSON_H_
#define STRANGER_BASE_JSON_H_

struct Json {
  int depth = 4;
};

#endif  // STRANGER_BASE_JSON_H_
