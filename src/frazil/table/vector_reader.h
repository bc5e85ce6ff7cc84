#pragma once

#include <memory>
#include <optional>
#include <string>

#include "frazil/format/deletion_vector.h"
#include "frazil/format/puffin.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/manifest.h"

namespace frazil::table {

/// Reads vectors one after another, believing neither entry nor blob before they agree (spec section 4.1). Keeps the
/// Puffin read last open, since neighbours share it. One thread.
class VectorReader {
 public:
  explicit VectorReader(const io::FileIO& io) : io_(io) {}

  struct Vector {
    format::DeletionVector positions;
    Bytes blob;  ///< as it lies in the Puffin
  };

  /// kCorruptData or kInvalidTable naming Puffin, field and data file. `data_file_record_count` none: unknown.
  Result<Vector> Read(const spec::DataFile& entry, std::optional<int64_t> data_file_record_count);

 private:
  Status OpenPuffin(const std::string& path);

  const io::FileIO& io_;
  std::string path_;
  std::unique_ptr<io::InputFile> file_;
  format::PuffinFooter footer_;
};

}  // namespace frazil::table
