// The only user of spdlog.
#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>

namespace fathom {

namespace {

struct Log {
  std::mutex mutex;
  std::vector<std::string> warnings;
  std::shared_ptr<spdlog::logger> logger;

  Log() {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    logger = std::make_shared<spdlog::logger>("fathom", sink);
    logger->set_pattern("fathom: %v");
    logger->set_level(spdlog::level::info);
  }
};

Log& the_log() {
  static Log log;
  return log;
}

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kNote:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void set_log_level(LogLevel level) {
  the_log().logger->set_level(level_of(level));
}

void log_line(LogLevel level, std::string_view text) {
  Log& log = the_log();
  const char* prefix = level == LogLevel::kWarning ? "warning: " : "";
  prefix = level == LogLevel::kError ? "error: " : prefix;
  log.logger->log(level_of(level), "{}{}", prefix, text);
  if (level == LogLevel::kWarning) {
    const std::lock_guard lock(log.mutex);
    if (log.warnings.size() < 100) {
      log.warnings.emplace_back(text);
    }
  }
}

std::vector<std::string> logged_warnings() {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  return log.warnings;
}

}  // namespace fathom
