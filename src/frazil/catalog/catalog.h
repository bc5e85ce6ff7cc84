#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frazil/catalog/table_name.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/spec/table_metadata_builder.h"
#include "frazil/spec/table_update.h"

namespace frazil::catalog {

/// Metadata and the file it was read from.
struct LoadedTable {
  spec::TableMetadataPtr metadata;
  std::string metadata_location;
};

/// Names -> tables, and the one place where a commit becomes true (spec section 8). Thread-safe.
///
/// Common errors: kNotFound and kAlreadyExists with the name, kUnavailable when the catalog does not answer.
class Catalog {
 public:
  virtual ~Catalog() = default;

  virtual const std::string& name() const = 0;
  /// The store that holds the tables' files.
  virtual std::shared_ptr<io::FileIO> file_io() const = 0;

  virtual Status CreateNamespace(const Namespace& levels, const std::map<std::string, std::string>& properties) = 0;
  /// kInvalidArgument when it still holds tables or namespaces.
  virtual Status DropNamespace(const Namespace& levels) = 0;
  virtual Result<std::vector<Namespace>> ListNamespaces(const Namespace& parent) const = 0;
  virtual Result<std::map<std::string, std::string>> LoadNamespace(const Namespace& levels) const = 0;
  virtual Status SetNamespaceProperties(const Namespace& levels,
                                        const std::map<std::string, std::string>& properties) = 0;

  virtual Result<std::vector<TableName>> ListTables(const Namespace& levels) const = 0;
  /// `request.location` empty: the catalog's default place. kNotFound when the namespace does not exist.
  virtual Result<LoadedTable> CreateTable(const TableName& name, spec::CreateTableRequest request) = 0;
  virtual Result<LoadedTable> LoadTable(const TableName& name) const = 0;
  /// Checks the requirements on the current metadata, applies the updates, writes a metadata file, swaps the pointer.
  /// kCommitConflict: somebody was faster or a requirement does not hold; nothing changed, retry on fresh metadata.
  /// kCommitUnknown: it may have happened; delete nothing, look for your snapshot id.
  /// With requirement::AssertCreate the table must not exist and is created, `update::SetLocation` being its place.
  /// Without updates only the requirements are checked. Files that fell off the metadata log are deleted when
  /// `write.metadata.delete-after-commit.enabled` is set, best effort.
  virtual Result<LoadedTable> CommitTable(const TableName& name,
                                          const std::vector<spec::TableRequirement>& requirements,
                                          const std::vector<spec::TableUpdate>& updates) = 0;
  /// Removes the name; `purge` also deletes the metadata files, the current one and those of its log, best effort.
  /// Manifests, data and delete files are deleted one level up, by whoever can read manifests: load the table, drop it,
  /// then delete what its metadata reaches, if `gc.enabled` (spec section 8.4).
  virtual Status DropTable(const TableName& name, bool purge) = 0;
  virtual Status RenameTable(const TableName& from, const TableName& to) = 0;
  /// Points a new name at an existing metadata file.
  virtual Result<LoadedTable> RegisterTable(const TableName& name, const std::string& metadata_location) = 0;
};

}  // namespace frazil::catalog
