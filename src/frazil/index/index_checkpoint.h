#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "frazil/index/index_directory.h"
#include "frazil/index/index_manifest.h"
#include "frazil/index/index_version.h"

namespace frazil::index {

/// The manifest of a version all of whose runs are files of the index's folder.
IndexManifest MakeManifest(const IndexVersion& version, const std::string& table_uuid, const std::string& key_version);

/// What a manifest and the files it lists still give.
struct LoadedVersion {
  std::shared_ptr<IndexVersion> version;
  /// Shards without entries, and why: a run is missing, truncated or another one. All of their runs are left out.
  std::map<uint32_t, std::string> damaged_shards;
  /// Live files that only a lost row map led to.
  std::set<FileNumber> incomplete;
  std::set<std::string> lost_row_maps;  ///< why, a line each
  bool has_missing_files = false;  ///< rather than wrong ones: in a folder opened for reading the manifest may be old
};
/// `version` lacks what only the table knows (files, io, key fields, deletes). Row maps are kept in memory out of `budget`,
/// which may be null; one for which there is no room counts as lost.
LoadedVersion LoadVersion(const IndexManifest& manifest, const IndexDirectory& directory, MemoryBudget* budget);

}  // namespace frazil::index
