#include "frazil/ingest/duplicate_keys.h"

#include <arrow/api.h>

#include "frazil/index/canonical_key.h"
#include "frazil/ingest/row_deletes.h"
#include "frazil/scan/row_fetcher.h"

namespace frazil::ingest {
namespace {

constexpr size_t kMaxExamples = 20;
constexpr int64_t kFetchCacheBytes = int64_t{16} << 20;

/// "id=7, part=x": the key of a row in words.
Result<std::string> KeyText(const index::KeyIndexView& view, const index::KeyHit& hit, const scan::ReadColumns& columns,
                            scan::RowFetcher& fetcher) {
  const table::FileScanTask* task = view.FindTask(hit.file_path());
  if (task == nullptr) return Fail(ErrorCode::kInternal, "a hit in a file that is not live: {}", hit.file_path());
  const int64_t position = hit.position.value();
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> rows,
                fetcher.Fetch(view.plan(), *task, {&position, 1}, columns, nullptr));
  std::string text;
  for (int i = 0; rows->num_rows() > 0 && i < rows->num_columns(); ++i) {
    const auto value = rows->column(i)->GetScalar(0);
    text += fmt::format("{}{}={}", i == 0 ? "" : ", ", rows->schema()->field(i)->name(),
                        value.ok() ? (*value)->ToString() : "?");
  }
  return text;
}

}  // namespace

Result<DuplicateKeys> FindDuplicateKeys(const table::Table& table, const index::KeyIndex& index) {
  const std::shared_ptr<const index::KeyIndexView> view = index.View();
  FRAZIL_ASSIGN(const index::CanonicalKey key, index::CanonicalKey::Make(*table.metadata()->schema(), 0));
  const scan::ReadColumns columns{.fields = key.field_ids()};
  scan::RowFetcher fetcher(table.io(), kFetchCacheBytes);
  DuplicateKeys found;
  FRAZIL_TRY(view->ForEachDuplicateKey([&](const Hash96&, const std::vector<index::KeyHit>& rows) -> Status {
    ++found.num_keys;
    found.num_older_rows += static_cast<int64_t>(rows.size()) - 1;
    if (found.examples.size() == kMaxExamples) return {};
    FRAZIL_ASSIGN(const std::string text, KeyText(*view, rows.front(), columns, fetcher));
    found.examples.push_back(fmt::format("{} has {} rows", text, rows.size()));
    return {};
  }));
  return found;
}

Result<int64_t> DeleteOlderDuplicates(table::Table& table, index::KeyIndex& index, Clock& clock) {
  return CommitRowDeletes(
      table, index,
      [&](const table::Table&) -> Result<table::OwnDeletes> {
        table::OwnDeletes own;
        FRAZIL_TRY(
            index.View()->ForEachDuplicateKey([&](const Hash96&, const std::vector<index::KeyHit>& rows) -> Status {
              for (size_t i = 1; i < rows.size(); ++i) FRAZIL_TRY(own[rows[i].file_path()].Add(rows[i].position));
              return {};
            }));
        return own;
      },
      clock);
}

}  // namespace frazil::ingest
