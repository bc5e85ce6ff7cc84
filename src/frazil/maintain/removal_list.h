#pragma once

#include <string>
#include <vector>

#include "frazil/io/file_io.h"
#include "frazil/maintain/reachable_files.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::maintain {

/// A file that a run wants to delete, and why.
struct RemovalCandidate {
  std::string path;
  FileKind kind = FileKind::kUnknown;
  std::string reason;       ///< "orphan, last changed ...", "freed by expiry of snapshot 12"
  int64_t modified_ms = 0;  ///< of an orphan, by the store's clock; 0: not known
  bool operator==(const RemovalCandidate&) const = default;
};

/// What a run wants to delete, as a file in `<table location>/_frazil/orphans/`: written before the first deletion, so
/// that a run that was cut off can be taken up by another, and deleted after the last (maintenance.md section 5 rule 6).
/// JSON lines; the first one names the table, since a folder may be copied with all that lies in it. Orphan removal of every
/// engine passes over names that begin with `_`.
class RemovalList {
 public:
  static std::string Folder(const std::string& table_location) { return table_location + "/_frazil/orphans"; }

  /// Writes a new list; `what` ("expire", "orphans") begins its name. Returns its path.
  static Result<std::string> Write(io::FileIO& io, const spec::TableMetadata& table, const std::string& what,
                                   const std::vector<RemovalCandidate>& candidates);
  /// kInvalidArgument: it is of another table or of another place of this one, whose files are not this one's to delete;
  /// kCorruptData. Both name the path.
  static Result<std::vector<RemovalCandidate>> Read(const io::FileIO& io, const spec::TableMetadata& table,
                                                    const std::string& path);
  /// Of no files: a list that is written to learn the store's time.
  static constexpr char kProbe[] = "probe";
  /// Whether the run that made it has said that it will not go on: `what` was Left(...).
  static bool IsLeft(const std::string& path);
  static std::string Left(const std::string& what) { return "left-" + what; }
  /// Lists of `what`, Left() or not, that earlier runs left, oldest first.
  static Result<std::vector<io::FileInfo>> Find(const io::FileIO& io, const std::string& table_location,
                                                const std::string& what);
};

}  // namespace frazil::maintain
