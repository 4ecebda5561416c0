// The program's log: spdlog to stderr, so that stdout carries results only.
#ifndef SPILLWAY_BASE_LOG_H_
#define SPILLWAY_BASE_LOG_H_

#include "spdlog/spdlog.h"

namespace spillway {

// Logs one line per message to stderr: "I message", "W message", "E message".
// Called once by a program's main; a library never configures the log.
void ConfigureLog(spdlog::level::level_enum level);

}  // namespace spillway

#endif  // SPILLWAY_BASE_LOG_H_
