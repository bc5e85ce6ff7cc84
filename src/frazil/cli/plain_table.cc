#include "frazil/cli/plain_table.h"

#include <algorithm>
#include <chrono>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "frazil/base/duration_text.h"

namespace frazil::cli {
namespace {

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string TsvField(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

std::string Separated(const std::vector<std::string>& row, bool is_csv) {
  std::string line;
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line += is_csv ? ',' : '\t';
    line += is_csv ? CsvField(row[i]) : TsvField(row[i]);
  }
  return line;
}

std::string Aligned(const std::vector<std::string>& row, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < row.size(); ++i)
    line += i + 1 < row.size() ? fmt::format("{:<{}}  ", row[i], widths[i]) : row[i];
  return line;
}

std::string Vertical(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  size_t width = 0;
  for (const std::string& name : header) width = std::max(width, name.size());
  std::string text;
  int64_t number = 0;
  for (const auto& row : rows) {
    text += fmt::format("-[ RECORD {} ]{:-<30}\n", ++number, "");
    for (size_t i = 0; i < row.size(); ++i) text += fmt::format("{:<{}} | {}\n", header[i], width, row[i]);
  }
  return text;
}

}  // namespace

std::string RowsText(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                     OutputFormat format) {
  if (format == OutputFormat::kNone) return "";
  if (format == OutputFormat::kVertical) return Vertical(header, rows);
  const bool is_csv = format == OutputFormat::kCsv;
  const bool is_separated = is_csv || format == OutputFormat::kTsv;
  std::vector<size_t> widths;
  for (const std::string& name : header) widths.push_back(name.size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const auto line = [&](const std::vector<std::string>& row) {
    return (is_separated ? Separated(row, is_csv) : Aligned(row, widths)) + "\n";
  };
  std::string text = line(header);
  for (const auto& row : rows) text += line(row);
  return text;
}

std::string FormatTime(int64_t ms, int64_t now_ms) {
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  const std::chrono::seconds age(std::max<int64_t>(0, (now_ms - ms) / 1000));
  return fmt::format("{:%Y-%m-%d %H:%M:%S} ({} ago)", fmt::gmtime(seconds), FormatDuration(age));
}

}  // namespace frazil::cli
