#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/ids.h"

namespace frazil::format {

/// Metadata of one blob in a Puffin footer (spec section 4.2).
struct PuffinBlob {
  std::string type;
  std::vector<spec::FieldId> fields;
  int64_t snapshot_id = -1;
  int64_t sequence_number = -1;
  int64_t offset = 0;
  int64_t length = 0;
  std::string compression_codec;  ///< empty: none
  std::map<std::string, std::string> properties;
  bool operator==(const PuffinBlob&) const = default;
};

struct PuffinFooter {
  std::vector<PuffinBlob> blobs;
  std::map<std::string, std::string> properties;
  int64_t footer_size_bytes = 0;  ///< magic to magic
};

inline constexpr char kDeletionVectorBlobType[] = "deletion-vector-v1";

/// Reads and checks a footer: magics, sizes, flags, blob ranges inside the file. kCorruptData naming the path.
Result<PuffinFooter> ReadPuffinFooter(const io::InputFile& file);
/// The blob's bytes, uncompressed (none, zstd; lz4 is kNotSupported).
Result<Bytes> ReadPuffinBlob(const io::InputFile& file, const PuffinBlob& blob);

/// Writes one Puffin file: blobs from offset 4 on, no padding. One thread.
class PuffinWriter {
 public:
  /// Takes over a file fresh from FileIO::Create.
  explicit PuffinWriter(std::unique_ptr<io::OutputFile> file);
  /// Uncompressed; returns where it lies.
  Result<PuffinBlob> AddBlob(PuffinBlob metadata, ByteView bytes);
  /// Writes the footer and closes. Returns the file's size in bytes.
  Result<int64_t> Finish();

 private:
  Status Start();
  std::unique_ptr<io::OutputFile> file_;
  std::vector<PuffinBlob> blobs_;
};

}  // namespace frazil::format
