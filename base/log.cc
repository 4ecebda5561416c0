#include "base/log.h"

#include <memory>
#include <utility>

#include "spdlog/sinks/stdout_sinks.h"

namespace spillway {

void ConfigureLog(spdlog::level::level_enum level) {
  auto logger = std::make_shared<spdlog::logger>(
      "spillway", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%L %v");
  logger->set_level(level);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace spillway
