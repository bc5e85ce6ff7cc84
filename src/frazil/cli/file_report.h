#pragma once

#include <memory>
#include <string>

#include "frazil/base/result.h"
#include "frazil/io/file_io.h"

namespace frazil::cli {

struct FileReportOptions {
  bool json = false;
  bool positions = false;  ///< of vectors: every deleted position, not their number alone
};

/// What an Iceberg file says, as JSON or as indented text for people: metadata.json (gzipped or not), manifest list,
/// manifest, Puffin, the footer of a Parquet file. Told apart by their first bytes, whatever their name.
///
/// Values stand as the bytes have them: nothing is inherited from other files. kCorruptData naming the file; kNotSupported
/// for a file that is none of these.
Result<std::string> ReportFile(const io::FileIO& io, const std::string& path, const FileReportOptions& options);

}  // namespace frazil::cli
