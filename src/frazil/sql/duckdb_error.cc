#include "frazil/sql/duckdb_error.h"

#include <algorithm>

#include "duckdb/common/exception.hpp"

namespace frazil::sql {

namespace {

using duckdb::ExceptionType;

constexpr char kCodeKey[] = "frazil_code";
constexpr char kHintKey[] = "frazil_hint";

ErrorCode CodeOf(ExceptionType type) {
  switch (type) {
    case ExceptionType::NOT_IMPLEMENTED:
    case ExceptionType::MISSING_EXTENSION:
    case ExceptionType::AUTOLOAD: return ErrorCode::kNotSupported;
    case ExceptionType::IO:
    case ExceptionType::PERMISSION: return ErrorCode::kIo;
    case ExceptionType::HTTP:
    case ExceptionType::NETWORK: return ErrorCode::kUnavailable;
    case ExceptionType::OUT_OF_MEMORY: return ErrorCode::kResourceExhausted;
    case ExceptionType::INTERRUPT: return ErrorCode::kShuttingDown;
    case ExceptionType::FATAL:
    case ExceptionType::INTERNAL: return ErrorCode::kInternal;
    default: return ErrorCode::kInvalidArgument;
  }
}

std::string Find(const duckdb::ErrorData& error, const std::string& key) {
  auto found = error.ExtraInfo().find(key);
  return found == error.ExtraInfo().end() ? "" : found->second;
}

/// DuckDB explains over several lines; the first says what happened.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string Between(const std::string& text, const std::string& open, const std::string& close) {
  size_t from = text.find(open);
  if (from == std::string::npos) return "";
  from += open.size();
  size_t to = text.find(close, from);
  return to == std::string::npos ? "" : text.substr(from, to - from);
}

/// " at 2:14" for a position in the query; empty when there is none.
std::string PlaceText(const duckdb::ErrorData& error, const std::string& query) {
  std::string position = Find(error, "position");
  if (position.empty() || position.size() > 9 || !std::all_of(position.begin(), position.end(), isdigit)) return "";
  size_t offset = std::stoul(position);
  if (offset > query.size()) return "";
  auto line = std::count(query.begin(), query.begin() + static_cast<ptrdiff_t>(offset), '\n') + 1;
  size_t line_start = offset == 0 ? std::string::npos : query.rfind('\n', offset - 1);
  size_t column = line_start == std::string::npos ? offset + 1 : offset - line_start;
  return fmt::format(" at {}:{}", line, column);
}

}  // namespace

void ThrowError(const Error& error) {
  std::unordered_map<std::string, std::string> info;
  info[kCodeKey] = std::to_string(static_cast<int>(error.code()));
  std::string message = error.message();
  for (const std::string& line : error.context()) message += "; " + line;
  if (!error.hint().empty()) info[kHintKey] = error.hint();
  throw duckdb::Exception(info, ExceptionType::INVALID_INPUT, message);
}

Error FromDuckError(const duckdb::ErrorData& error, const std::string& query, const std::string& tables) {
  const std::string& raw = error.RawMessage();
  if (std::string code = Find(error, kCodeKey); !code.empty()) {
    Error ours(static_cast<ErrorCode>(std::stoi(code)), raw);
    std::string hint = Find(error, kHintKey);
    return hint.empty() ? ours : std::move(ours).WithHint(hint);
  }
  if (error.Type() == ExceptionType::INTERRUPT) return Error(ErrorCode::kShuttingDown, "query cancelled");

  std::string subtype = Find(error, "error_subtype");
  std::string name = Find(error, "name");
  std::string candidates = Find(error, "candidates");
  std::string first = candidates.substr(0, candidates.find(','));
  if (subtype == "COLUMN_NOT_FOUND" && !name.empty()) {
    std::string message = fmt::format("column '{}' not found", name);
    if (!tables.empty()) message += " in " + tables;
    Error result(ErrorCode::kInvalidArgument, message);
    return first.empty() ? result : std::move(result).WithHint(fmt::format("did you mean {}?", first));
  }
  if (subtype == "MISSING_ENTRY" && !name.empty()) {
    std::string kind = Find(error, "type");
    std::transform(kind.begin(), kind.end(), kind.begin(), ::tolower);
    Error result(ErrorCode::kNotFound, fmt::format("{} not found: {}", kind.empty() ? "entry" : kind, name));
    std::string near = Find(error, "candidates");
    if (near.empty()) near = Between(raw, "Did you mean \"", "\"");
    return near.empty() ? result
                        : std::move(result).WithHint(fmt::format("did you mean {}?", near.substr(0, near.find(','))));
  }
  std::string message = FirstLine(raw);
  if (message.starts_with("Extension \"") && message.ends_with("\" not found.")) {
    std::string extension = Between(message, "Extension \"", ".duckdb_extension");
    extension = extension.substr(extension.rfind('/') + 1);
    return Error(ErrorCode::kNotSupported, "DuckDB's extension is not part of this program: " + extension)
        .WithHint(fmt::format(
            "once: INSTALL {0} fetches it from DuckDB's server, INSTALL '.../{0}.duckdb_extension' takes a file",
            extension));
  }
  if (error.Type() == ExceptionType::PARSER || error.Type() == ExceptionType::SYNTAX) {
    message += PlaceText(error, query);
  }
  return Error(CodeOf(error.Type()), message);
}

}  // namespace frazil::sql
