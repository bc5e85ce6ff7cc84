#include "frazil/cli/output.h"

#include <algorithm>
#include <cstdio>

#include <arrow/api.h>
#include <arrow/io/stdio.h>
#include <arrow/ipc/writer.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "frazil/cli/json_text.h"
#include "frazil/sql/table_renderer.h"

namespace frazil::cli {
namespace {

constexpr int kMaxRowsOnScreen = 100;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

int TerminalWidth() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 0;
}

Status Print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    return Fail(ErrorCode::kIo, "cannot write to standard output");
  }
  return {};
}

std::string Separated(const std::string& text, char separator) {
  if (separator == '\t') {
    // No quotes in tab-separated text; what would break the shape is escaped.
    std::string out;
    for (const char c : text) out += c == '\t' ? "\\t" : c == '\n' ? "\\n" : c == '\\' ? "\\\\" : std::string(1, c);
    return out;
  }
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::string MarkdownCell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : c == '\n' ? "<br>" : std::string(1, c);
  return out;
}

/// Prints rows as they come; one class a format.
class RowPrinter {
 public:
  virtual ~RowPrinter() = default;
  virtual std::string Begin() { return ""; }
  virtual std::string Row(const arrow::RecordBatch& batch, int64_t row, const std::vector<sql::Cell>& cells) = 0;
  virtual std::string End() { return ""; }
};

class SeparatedPrinter : public RowPrinter {
 public:
  SeparatedPrinter(const std::vector<sql::ResultColumn>& columns, char separator)
      : columns_(columns), separator_(separator) {}
  std::string Begin() override {
    std::vector<std::string> names;
    for (const sql::ResultColumn& column : columns_) names.push_back(Separated(column.name, separator_));
    return fmt::format("{}\n", fmt::join(names, std::string(1, separator_)));
  }
  std::string Row(const arrow::RecordBatch&, int64_t, const std::vector<sql::Cell>& cells) override {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += separator_;
      if (cells[i].is_null) continue;
      // An empty string is told apart from null by its quotes.
      line += cells[i].text.empty() && separator_ == ',' ? "\"\"" : Separated(cells[i].text, separator_);
    }
    return line + "\n";
  }

 private:
  const std::vector<sql::ResultColumn>& columns_;
  const char separator_;
};

class JsonPrinter : public RowPrinter {
 public:
  JsonPrinter(const std::vector<sql::ResultColumn>& columns, bool lines) : columns_(columns), lines_(lines) {}
  std::string Begin() override { return lines_ ? "" : "["; }
  std::string Row(const arrow::RecordBatch& batch, int64_t row, const std::vector<sql::Cell>& cells) override {
    std::string object = lines_ ? "{" : first_ ? "\n  {" : ",\n  {";
    first_ = false;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) object += ",";
      object += JsonString(columns_[i].name) + ":" + JsonText(*batch.column(static_cast<int>(i)), row, cells[i].text);
    }
    return object + (lines_ ? "}\n" : "}");
  }
  std::string End() override { return lines_ ? "" : first_ ? "]\n" : "\n]\n"; }

 private:
  const std::vector<sql::ResultColumn>& columns_;
  const bool lines_;
  bool first_ = true;
};

class MarkdownPrinter : public RowPrinter {
 public:
  explicit MarkdownPrinter(const std::vector<sql::ResultColumn>& columns) : columns_(columns) {}
  std::string Begin() override {
    std::string names = "|";
    std::string rule = "|";
    for (const sql::ResultColumn& column : columns_) {
      names += " " + MarkdownCell(column.name) + " |";
      rule += "---|";
    }
    return names + "\n" + rule + "\n";
  }
  std::string Row(const arrow::RecordBatch&, int64_t, const std::vector<sql::Cell>& cells) override {
    std::string line = "|";
    for (const sql::Cell& cell : cells) line += " " + (cell.is_null ? "NULL" : MarkdownCell(cell.text)) + " |";
    return line + "\n";
  }

 private:
  const std::vector<sql::ResultColumn>& columns_;
};

class VerticalPrinter : public RowPrinter {
 public:
  explicit VerticalPrinter(const std::vector<sql::ResultColumn>& columns) : columns_(columns) {
    for (const sql::ResultColumn& column : columns) width_ = std::max(width_, column.name.size());
  }
  std::string Row(const arrow::RecordBatch&, int64_t, const std::vector<sql::Cell>& cells) override {
    std::string text = fmt::format("-[ RECORD {} ]{:-<30}\n", ++number_, "");
    for (size_t i = 0; i < cells.size(); ++i) {
      text += fmt::format("{:<{}} | {}\n", columns_[i].name, width_, cells[i].is_null ? "NULL" : cells[i].text);
    }
    return text;
  }

 private:
  const std::vector<sql::ResultColumn>& columns_;
  size_t width_ = 0;
  int64_t number_ = 0;
};

std::unique_ptr<RowPrinter> PrinterFor(OutputFormat format, const std::vector<sql::ResultColumn>& columns) {
  switch (format) {
    case OutputFormat::kCsv: return std::make_unique<SeparatedPrinter>(columns, ',');
    case OutputFormat::kTsv: return std::make_unique<SeparatedPrinter>(columns, '\t');
    case OutputFormat::kJson: return std::make_unique<JsonPrinter>(columns, false);
    case OutputFormat::kJsonLines: return std::make_unique<JsonPrinter>(columns, true);
    case OutputFormat::kMarkdown: return std::make_unique<MarkdownPrinter>(columns);
    default: return std::make_unique<VerticalPrinter>(columns);
  }
}

Status PrintRows(sql::QueryResult& result, OutputFormat format) {
  const std::unique_ptr<RowPrinter> printer = PrinterFor(format, result.columns());
  FRAZIL_TRY(Print(printer->Begin()));
  for (;;) {
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch, result.Next());
    if (batch == nullptr) break;
    FRAZIL_ASSIGN(const auto rows, sql::CellsOf(*batch));
    std::string text;
    for (size_t row = 0; row < rows.size(); ++row) text += printer->Row(*batch, static_cast<int64_t>(row), rows[row]);
    FRAZIL_TRY(Print(text));
  }
  return Print(printer->End());
}

Status PrintArrow(sql::QueryResult& result) {
  const auto check = [](const arrow::Status& status) -> Status {
    if (status.ok()) return {};
    return Fail(ErrorCode::kIo, "cannot write to standard output: {}", status.ToString());
  };
  arrow::io::StdoutStream out;
  auto writer = arrow::ipc::MakeStreamWriter(&out, result.schema());
  FRAZIL_TRY(check(writer.status()));
  for (;;) {
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch, result.Next());
    if (batch == nullptr) return check((*writer)->Close());
    FRAZIL_TRY(check((*writer)->WriteRecordBatch(*batch)));
  }
}

}  // namespace

Result<OutputFormat> ParseOutputFormat(const std::string& text) {
  const std::string name = Lower(text);
  if (name.empty() || name == "auto") return isatty(STDOUT_FILENO) ? OutputFormat::kTable : OutputFormat::kCsv;
  if (name == "table" || name == "box" || name == "aligned" || name == "duckbox") return OutputFormat::kTable;
  if (name == "csv" || name == "csv_header") return OutputFormat::kCsv;
  if (name == "tsv" || name == "tsv_header" || name == "tabs") return OutputFormat::kTsv;
  if (name == "json") return OutputFormat::kJson;
  if (name == "jsonl" || name == "jsonlines" || name == "ndjson") return OutputFormat::kJsonLines;
  if (name == "arrow") return OutputFormat::kArrow;
  if (name == "markdown") return OutputFormat::kMarkdown;
  if (name == "vertical" || name == "line") return OutputFormat::kVertical;
  if (name == "none" || name == "null" || name == "trash") return OutputFormat::kNone;
  return tl::unexpected(Error(ErrorCode::kInvalidArgument, "unknown output format '" + text + "'")
                            .WithHint("one of table, csv, tsv, json, jsonl, arrow, markdown, vertical, none; "
                                      "COPY (...) TO 'file.parquet' writes Parquet"));
}

Status WriteResult(sql::QueryResult& result, OutputFormat format, bool quiet) {
  if (!result.columns().empty()) {
    if (format == OutputFormat::kTable) {
      FRAZIL_ASSIGN(const std::string box, sql::RenderBox(result, kMaxRowsOnScreen, TerminalWidth()));
      FRAZIL_TRY(Print(box));
    } else if (format == OutputFormat::kArrow) {
      FRAZIL_TRY(PrintArrow(result));
    } else if (format == OutputFormat::kNone) {
      for (;;) {
        FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch, result.Next());
        if (batch == nullptr) break;
      }
    } else {
      FRAZIL_TRY(PrintRows(result, format));
    }
  }
  if (std::fflush(stdout) != 0) return Fail(ErrorCode::kIo, "cannot write to standard output");
  if (!quiet && !result.message().empty()) fmt::print(stderr, "{}\n", result.message());
  return {};
}

}  // namespace frazil::cli
