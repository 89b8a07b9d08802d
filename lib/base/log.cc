// The only user of spdlog.
#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace fathom {

namespace {

struct Log {
  std::mutex mutex;
  std::vector<std::string> warnings;
  std::atomic<LogFormat> format = LogFormat::kPlain;
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

const char* pattern_of(LogFormat format) {
  switch (format) {
    case LogFormat::kPlain:
      return "fathom: %v";
    case LogFormat::kTimed:
      return "%Y-%m-%dT%H:%M:%S.%e%z fathom: %v";
    case LogFormat::kJson:
      return R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})";
  }
  return "%v";
}

}  // namespace

void set_log_format(LogFormat format) {
  the_log().format.store(format);
  the_log().logger->set_pattern(pattern_of(format));
}

std::string quote_json(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < ' ') {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

void log_record(std::string_view text, std::string_view members) {
  Log& log = the_log();
  const bool is_json = log.format.load() == LogFormat::kJson;
  log.logger->log(spdlog::level::info, "{}", is_json ? members : text);
}

void set_log_level(LogLevel level) {
  the_log().logger->set_level(level_of(level));
}

void log_line(LogLevel level, std::string_view text) {
  Log& log = the_log();
  const char* prefix = level == LogLevel::kWarning ? "warning: " : "";
  prefix = level == LogLevel::kError ? "error: " : prefix;
  if (log.format.load() == LogFormat::kJson) {
    log.logger->log(level_of(level), "\"message\":{}", quote_json(text));
  } else {
    log.logger->log(level_of(level), "{}{}", prefix, text);
  }
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
