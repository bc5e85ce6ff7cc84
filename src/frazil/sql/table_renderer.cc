#include "frazil/sql/table_renderer.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include <arrow/record_batch.h>

namespace frazil::sql {

namespace {

constexpr size_t kMinColumnWidth = 5;
/// Columns are left out before those that stay become narrower than this.
constexpr size_t kReadableWidth = 10;
constexpr size_t kReadablePath = 48;

/// The code points of a text; bytes that are no UTF-8 stand for themselves.
struct CodePoint {
  uint32_t value = 0;
  size_t num_bytes = 1;
};

CodePoint Decode(std::string_view text, size_t at) {
  auto byte = static_cast<unsigned char>(text[at]);
  size_t length = byte < 0x80 ? 1 : (byte >> 5) == 0x6 ? 2 : (byte >> 4) == 0xE ? 3 : (byte >> 3) == 0x1E ? 4 : 1;
  if (at + length > text.size()) return {byte, 1};
  if (length == 1) return {byte, 1};
  uint32_t value = byte & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) value = (value << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
  return {value, length};
}

/// Columns of a terminal that a code point takes.
size_t WidthOf(uint32_t point) {
  if ((point >= 0x300 && point <= 0x36F) || point == 0x200B || point == 0x200D || (point >= 0xFE00 && point <= 0xFE0F))
    return 0;
  bool wide = (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
              (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
              (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) ||
              (point >= 0xFFE0 && point <= 0xFFE6) || (point >= 0x1F300 && point <= 0x1FAFF) ||
              (point >= 0x20000 && point <= 0x3FFFD);
  return wide ? 2 : 1;
}

size_t WidthOf(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) {
    CodePoint point = Decode(text, at);
    width += WidthOf(point.value);
    at += point.num_bytes;
  }
  return width;
}

/// At most `width` columns; what is cut off shows as an ellipsis.
std::string Shorten(const std::string& text, size_t width) {
  if (WidthOf(text) <= width) return text;
  std::string kept;
  size_t used = 0;
  for (size_t at = 0; at < text.size();) {
    CodePoint point = Decode(text, at);
    if (used + WidthOf(point.value) + 1 > width) break;
    kept += text.substr(at, point.num_bytes);
    used += WidthOf(point.value);
    at += point.num_bytes;
  }
  return kept + "…";
}

/// The same for a path: its end says more than its beginning.
std::string ShortenFront(const std::string& text, size_t width) {
  size_t used = WidthOf(text);
  if (used <= width) return text;
  size_t at = 0;
  while (at < text.size() && used + 1 > width) {
    const CodePoint point = Decode(text, at);
    used -= WidthOf(point.value);
    at += point.num_bytes;
  }
  return "…" + text.substr(at);
}

bool IsPath(const std::string& text) {
  const size_t scheme = text.find("://");
  return text.find('\n') == std::string::npos &&
         (text.starts_with('/') || (scheme != std::string::npos && scheme < 10));
}

/// Control characters would break the frame.
std::string OneLine(const std::string& text) {
  std::string plain;
  for (char letter : text) {
    switch (letter) {
      case '\n': plain += "\\n"; break;
      case '\r': plain += "\\r"; break;
      case '\t': plain += "\\t"; break;
      default: plain += static_cast<unsigned char>(letter) < 32 ? "?" : std::string(1, letter);
    }
  }
  return plain;
}

std::string Repeat(const char* piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += piece;
  return text;
}

enum class Align { kLeft, kRight, kCenter };

std::string Pad(const std::string& text, size_t width, Align align) {
  size_t missing = width - std::min(width, WidthOf(text));
  size_t left = align == Align::kLeft ? 0 : align == Align::kRight ? missing : missing / 2;
  return std::string(left, ' ') + text + std::string(missing - left, ' ');
}

bool IsNumber(const std::string& type) {
  for (const char* number : {"tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger",
                             "ubigint", "uhugeint", "float", "double", "decimal"}) {
    if (type.rfind(number, 0) == 0 && type.find('[') == std::string::npos) return true;
  }
  return false;
}

using Row = std::vector<std::string>;

/// The rows to show: the first and the last of the result.
struct Excerpt {
  std::vector<Row> head;
  std::deque<Row> tail;
  int64_t num_rows = 0;
  int64_t num_hidden() const { return num_rows - static_cast<int64_t>(head.size() + tail.size()); }
};

Result<Excerpt> ReadExcerpt(QueryResult& result, size_t max_rows) {
  Excerpt excerpt;
  size_t max_head = (max_rows + 1) / 2;
  size_t max_tail = max_rows - max_head;
  while (true) {
    FRAZIL_ASSIGN(auto batch, result.Next());
    if (!batch) return excerpt;
    int64_t count = batch->num_rows();
    // Rows in the middle of a long result are counted, not formatted.
    int64_t first_wanted = static_cast<int64_t>(excerpt.head.size()) < static_cast<int64_t>(max_head)
                               ? 0
                               : std::max<int64_t>(0, count - static_cast<int64_t>(max_tail));
    FRAZIL_ASSIGN(auto cells, CellsOf(*batch->Slice(first_wanted)));
    excerpt.num_rows += count;
    for (auto& cell_row : cells) {
      Row row;
      for (Cell& cell : cell_row) row.push_back(cell.is_null ? "NULL" : std::move(cell.text));
      if (excerpt.head.size() < max_head) {
        excerpt.head.push_back(std::move(row));
      } else if (max_tail > 0) {
        excerpt.tail.push_back(std::move(row));
        if (excerpt.tail.size() > max_tail) excerpt.tail.pop_front();
      }
    }
  }
}

class Box {
 public:
  Box(const std::vector<ResultColumn>& columns, Excerpt excerpt) : excerpt_(std::move(excerpt)) {
    for (Row& row : excerpt_.head) row = OneLineEach(std::move(row));
    for (Row& row : excerpt_.tail) row = OneLineEach(std::move(row));
    for (const ResultColumn& column : columns) {
      names_.push_back(OneLine(column.name));
      types_.push_back(column.type);
      aligns_.push_back(IsNumber(column.type) ? Align::kRight : Align::kLeft);
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      size_t width = std::max(WidthOf(names_[i]), std::min<size_t>(WidthOf(types_[i]), 20));
      size_t cells = 0;
      bool has_paths = false;
      const auto look = [&](const Row& row) {
        cells = std::max(cells, WidthOf(row[i]));
        has_paths = has_paths || IsPath(row[i]);
      };
      for (const Row& row : excerpt_.head) look(row);
      for (const Row& row : excerpt_.tail) look(row);
      width = std::max(width, cells);
      widths_.push_back(width);
      shown_.push_back(i);
      // A number that is cut off is another number; of a path the file's name should stay.
      const bool is_number = aligns_[i] == Align::kRight;
      const size_t floor = is_number ? std::max(cells, kReadableWidth) : has_paths ? kReadablePath : kReadableWidth;
      floors_.push_back(std::min(width, floor));
      is_path_.push_back(has_paths);
    }
    size_t needed = WidthOf(Footer()) + 4;
    if (Total() < needed) widths_.back() += needed - Total();
  }

  void Fit(size_t max_width) {
    const std::vector<size_t> natural = widths_;
    while (!Shrink(max_width, floors_) && shown_.size() > 2) {
      widths_ = natural;  // the others get what the column leaves
      shown_.erase(shown_.begin() + static_cast<ptrdiff_t>(LeastWanted()));
    }
    Shrink(max_width, std::vector<size_t>(widths_.size(), kMinColumnWidth));
  }

  std::string Draw() const {
    std::string text = Rule("┌", "┬", "┐");
    text += Line(names_, Align::kCenter, true) + Line(types_, Align::kCenter, true) + Rule("├", "┼", "┤");
    for (const Row& row : excerpt_.head) text += Line(row, Align::kLeft, false);
    if (excerpt_.num_hidden() > 0) {
      Row dots(names_.size(), "·");
      for (int i = 0; i < 3; ++i) text += Line(dots, Align::kCenter, true);
    }
    for (const Row& row : excerpt_.tail) text += Line(row, Align::kLeft, false);
    text += Rule("├", "┴", "┤");
    size_t inside = Total() - 4;
    text += "│ " + Pad(Shorten(Footer(), inside), inside, Align::kLeft) + " │\n";
    return text + "└" + Repeat("─", Total() - 2) + "┘\n";
  }

 private:
  std::string Footer() const {
    std::string footer = fmt::format("{} row{}", excerpt_.num_rows, excerpt_.num_rows == 1 ? "" : "s");
    if (excerpt_.num_hidden() > 0) footer += fmt::format(" ({} shown)", excerpt_.num_rows - excerpt_.num_hidden());
    if (HasGap()) footer += fmt::format(", {} columns ({} shown)", names_.size(), shown_.size());
    return footer;
  }

  /// Takes from the widest column again and again, from none below its floor. False: that is not enough.
  bool Shrink(size_t max_width, const std::vector<size_t>& floors) {
    while (Total() > max_width) {
      const size_t excess = Total() - max_width;
      std::optional<size_t> widest;
      for (const size_t column : shown_) {
        if (widths_[column] <= floors[column]) continue;
        if (!widest || widths_[column] > widths_[*widest]) widest = column;
      }
      if (!widest) return false;
      const size_t spare = widths_[*widest] - floors[*widest];
      widths_[*widest] -= std::min({excess, spare, std::max<size_t>(1, widths_[*widest] / 8)});
    }
    return true;
  }

  /// The place among those shown of the column to leave out: the one nearest the middle, paths last.
  size_t LeastWanted() const {
    const size_t middle = shown_.size() / 2;
    size_t best = middle;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 1; i + 1 < shown_.size(); ++i) {
      const size_t distance = (i > middle ? i - middle : middle - i) + (is_path_[shown_[i]] ? shown_.size() : 0);
      if (distance < best_distance) {
        best = i;
        best_distance = distance;
      }
    }
    return best;
  }

  bool HasGap() const { return shown_.size() < names_.size(); }
  /// Shown columns before the ellipsis column, which stands for the first that are left out.
  size_t GapAfter() const {
    for (size_t i = 1; i < shown_.size(); ++i) {
      if (shown_[i] != shown_[i - 1] + 1) return i;
    }
    return shown_.size();
  }

  size_t Total() const {
    size_t total = 1;
    for (size_t column : shown_) total += widths_[column] + 3;
    return total + (HasGap() ? 4 : 0);
  }

  std::string Rule(const char* left, const char* middle, const char* right) const {
    std::string text = left;
    for (size_t i = 0; i < shown_.size(); ++i) {
      if (i > 0) text += middle;
      if (HasGap() && i == GapAfter()) text += Repeat("─", 3) + middle;
      text += Repeat("─", widths_[shown_[i]] + 2);
    }
    return text + right + "\n";
  }

  std::string Line(const Row& row, Align align, bool is_header) const {
    std::string text = "│";
    for (size_t i = 0; i < shown_.size(); ++i) {
      if (HasGap() && i == GapAfter()) text += " … │";
      size_t column = shown_[i];
      text +=
          " " + Pad(Cut(row[column], column, is_header), widths_[column], is_header ? align : aligns_[column]) + " │";
    }
    return text + "\n";
  }

  std::string Cut(const std::string& text, size_t column, bool is_header) const {
    return is_path_[column] && !is_header ? ShortenFront(text, widths_[column]) : Shorten(text, widths_[column]);
  }

  static Row OneLineEach(Row row) {
    for (std::string& cell : row) cell = OneLine(cell);
    return row;
  }

  Excerpt excerpt_;
  std::vector<std::string> names_;
  std::vector<std::string> types_;
  std::vector<Align> aligns_;
  std::vector<size_t> widths_;
  std::vector<size_t> floors_;  ///< how narrow a column may become while others can still be left out
  std::vector<bool> is_path_;
  std::vector<size_t> shown_;
};

/// The text of a result that is one text of several lines, such as a plan or a statement; none for other results.
std::optional<std::string> TextOfLines(const Excerpt& excerpt) {
  constexpr size_t kMostColumns = 2;  // EXPLAIN says in front what the text is
  if (excerpt.num_rows != 1 || excerpt.head.size() != 1) return std::nullopt;
  const Row& row = excerpt.head[0];
  if (row.size() > kMostColumns || row.back().find('\n') == std::string::npos) return std::nullopt;
  return row.back();
}

}  // namespace

Result<std::string> RenderBox(QueryResult& result, int max_rows, int max_width) {
  std::vector<ResultColumn> columns = result.columns();
  if (columns.empty()) return std::string();
  FRAZIL_ASSIGN(Excerpt excerpt, ReadExcerpt(result, static_cast<size_t>(std::max(1, max_rows))));
  if (const auto text = TextOfLines(excerpt)) return text->ends_with('\n') ? *text : *text + "\n";
  Box box(columns, std::move(excerpt));
  if (max_width > 0) box.Fit(static_cast<size_t>(max_width));
  return box.Draw();
}

}  // namespace frazil::sql
