#include "frazil/base/log.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace frazil {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarn: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kOff: return spdlog::level::off;
  }
  return spdlog::level::off;
}

struct State {
  Log::Format format = Log::Format::kText;
  std::shared_ptr<spdlog::logger> logger;

  State() {
    logger = std::make_shared<spdlog::logger>("frazil", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_level(spdlog::level::warn);
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  }
};

State& state() {
  static State instance;
  return instance;
}

/// Fields of the lines of this thread, outermost first.
thread_local std::vector<std::pair<std::string, std::string>> fields;

/// Calls `write` for each field that no inner one of the same name hides.
template <typename Write>
void ForEachField(const Write& write) {
  for (auto field = fields.begin(); field != fields.end(); ++field) {
    const bool is_hidden =
        std::any_of(field + 1, fields.end(), [&](const auto& inner) { return inner.first == field->first; });
    if (!is_hidden) write(field->first, field->second);
  }
}

std::string EscapeJson(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void Log::Configure(LogLevel level, Format format) {
  state().format = format;
  state().logger->set_level(ToSpdlog(level));
  state().logger->set_pattern(
      format == Format::kJson ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v",
      spdlog::pattern_time_type::utc);
}

bool Log::Enabled(LogLevel level) { return state().logger->should_log(ToSpdlog(level)); }

void Log::Write(LogLevel level, std::string_view message) {
  std::string line;
  if (state().format == Format::kJson) {
    ForEachField([&](const std::string& name, const std::string& value) {
      line += fmt::format(R"("{}":"{}",)", EscapeJson(name), EscapeJson(value));
    });
    line += fmt::format(R"("message":"{}")", EscapeJson(message));
  } else {
    ForEachField([&](const std::string& name, const std::string& value) { line += name + "=" + value + " "; });
    line += message;
  }
  state().logger->log(ToSpdlog(level), "{}", line);
}

LogScope::LogScope(std::string name, std::string value) { fields.emplace_back(std::move(name), std::move(value)); }

LogScope::~LogScope() { fields.pop_back(); }

}  // namespace frazil
