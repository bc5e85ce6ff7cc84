#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/ingest/avro_plan.h"
#include "frazil/ingest/column_binding.h"
#include "frazil/spec/schema.h"

namespace frazil::ingest {

/// Fills columns from the bytes of a key or a value of one format. Bound to the columns of one table schema. One thread.
class ColumnFiller {
 public:
  enum class Filled {
    kAll,          ///< one value in each bound column
    kDone,         ///< one value in each bound column whose field is there
    kNeedsSchema,  ///< nothing was taken: see Changes()
  };

  virtual ~ColumnFiller() = default;
  /// `row`: length of the columns before this record. After an error the columns hold a part of it, which the caller cuts
  /// off. Errors: kUnavailable; all others mean that the record is poison.
  virtual Result<Filled> Fill(std::string_view bytes, int64_t row) = 0;

  /// Id of the writer's schema of the last bytes, where formats have some.
  virtual int32_t last_schema_id() const { return 0; }
  /// What a writer's schema that was met would change, if columns were bound like this (columns may be null).
  virtual Result<std::vector<ColumnChange>> Changes(int32_t /*writer*/, const spec::Schema&,
                                                    const std::vector<ColumnBinding>&) {
    return std::vector<ColumnChange>{};
  }
  /// Ids of the registry's schemas that were met.
  virtual std::vector<int32_t> schema_ids() const { return {}; }
};

/// Flink's `raw`: the bytes are the value. Only a binding of the whole takes it. kInvalidArgument naming a column whose
/// type it cannot fill.
Result<std::unique_ptr<ColumnFiller>> MakeRawFiller(std::vector<ColumnBinding> bindings);

}  // namespace frazil::ingest
