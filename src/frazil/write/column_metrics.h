#pragma once

#include <map>
#include <optional>
#include <string>

#include "frazil/base/result.h"
#include "frazil/format/parquet_metrics.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::write {

/// How much of a column's statistics goes into manifests (spec section 7.4).
struct MetricsMode {
  enum class Kind { kNone, kCounts, kTruncate, kFull };
  Kind kind = Kind::kTruncate;
  int length = 16;  ///< of kTruncate: code points or bytes
  bool operator==(const MetricsMode&) const = default;
};

/// The mode of every column of a table by leaf field id: `write.metadata.metrics.default`, `.column.X`,
/// `.max-inferred-column-defaults`. kInvalidArgument naming a bad value.
class MetricsConfig {
 public:
  static Result<MetricsConfig> Make(const spec::TableMetadata& metadata, const spec::Schema& schema);
  MetricsMode ModeOf(spec::FieldId id) const;

 private:
  std::map<spec::FieldId, MetricsMode> modes_;
};

/// Fills a data file's metrics from what its Parquet writer counted, in the modes of `config`.
void SetColumnMetrics(const format::ParquetMetrics& metrics, const spec::Schema& schema, const MetricsConfig& config,
                      spec::DataFile& file);

/// First `length` code points of valid UTF-8 (bytes of anything else): a lower bound of `text` and all it starts.
std::string TruncateLower(const std::string& text, int length);
/// Smallest text of at most `length` code points that is not below any text with the same start; none when there is
/// none. Skips surrogates. Text that is short enough stays as it is.
std::optional<std::string> TruncateUpper(const std::string& text, int length);
/// The same for bytes.
Bytes TruncateLower(const Bytes& bytes, int length);
std::optional<Bytes> TruncateUpper(const Bytes& bytes, int length);

}  // namespace frazil::write
