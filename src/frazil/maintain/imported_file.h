#pragma once

#include <map>
#include <string>

#include "frazil/base/result.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::maintain {

/// What a table takes over files by.
struct ImportRules {
  spec::TableMetadataPtr metadata;
  std::map<std::string, spec::FieldId> name_mapping;  ///< for files without field ids, as the table will have it
};

/// A Parquet file that somebody else wrote, as an entry of the table: counts and bounds from its footer in the table's
/// metrics modes. Reads nothing but the footer. `partition`: of the table's default spec.
///
/// kInvalidArgument naming file and column when the table cannot read it: a required column is missing, a type does not
/// fit, an encryption is on it; kCorruptData when it is no Parquet file.
Result<spec::DataFile> ImportedFile(const io::FileIO& io, const io::FileInfo& file, const ImportRules& rules,
                                    spec::PartitionTuple partition);

/// Values of the default spec's fields from the folders of a path below `root`: "a=1/b=x/file". Every field must be an
/// identity. `__HIVE_DEFAULT_PARTITION__` is null; names in any case, values percent-decoded.
/// kInvalidArgument naming path and field when one is missing, strange, or no value of its type.
Result<spec::PartitionTuple> PartitionOfPath(const spec::TableMetadata& metadata, const std::string& root,
                                             const std::string& path);

/// The folders "k=v" of a path below `root`, outermost first, decoded.
std::vector<std::pair<std::string, std::string>> PartitionFolders(const std::string& root, const std::string& path);

}  // namespace frazil::maintain
