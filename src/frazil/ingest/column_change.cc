#include "frazil/ingest/column_change.h"

#include "frazil/table/schema_update.h"

namespace frazil::ingest {

Result<std::vector<spec::TableUpdate>> UpdatesFor(const std::vector<ColumnChange>& changes,
                                                  const spec::TableMetadata& metadata) {
  table::SchemaUpdate update(metadata, "the table");
  for (const ColumnChange& change : changes) {
    switch (change.kind) {
      case ColumnChange::Kind::kAdd: {
        spec::Field field = change.field;
        if (metadata.format_version < 3) field.write_default = {};
        FRAZIL_TRY(update.AddColumn(change.column, std::move(field), std::nullopt));
        break;
      }
      case ColumnChange::Kind::kWiden: FRAZIL_TRY(update.ChangeType(change.column, change.field.type)); break;
      case ColumnChange::Kind::kMakeOptional: FRAZIL_TRY(update.MakeOptional(change.column)); break;
    }
  }
  return update.Updates();
}

}  // namespace frazil::ingest
