#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/format/avro_codec.h"
#include "frazil/format/avro_decoder.h"
#include "frazil/format/avro_schema.h"
#include "frazil/io/file_io.h"

namespace frazil::format {

/// An Avro object container that was read whole into memory, compressed as it is: header and blocks (codecs null, deflate,
/// zstandard, snappy). Immutable; const calls are safe from any thread.
class AvroFileReader {
 public:
  /// Checks magic, metadata and schema. kCorruptData or kNotSupported (codec, encryption) naming the path.
  static Result<AvroFileReader> Open(const io::FileIO& io, const std::string& path);
  static Result<AvroFileReader> FromBytes(Bytes bytes, std::string path);

  const std::string& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const AvroNodePtr& schema() const { return schema_; }

  /// Decompresses block after block and hands out (bytes of the block, number of records). A block's uncompressed size
  /// is bounded (64 MiB a block, and 1 MiB plus about 1000 times its compressed size; 2 GiB for all), and so is its number of
  /// records by the fewest bytes that one takes.
  Status ForEachBlock(const std::function<Status(ByteView block, int64_t num_records)>& visit) const;

 private:
  friend class AvroBlockCursor;
  AvroFileReader() = default;
  Status ReadHeader();

  std::string path_;
  Bytes bytes_;
  std::map<std::string, std::string> metadata_;
  AvroNodePtr schema_;
  AvroCodec codec_ = AvroCodec::kNull;
  size_t blocks_offset_ = 0;
  std::array<std::byte, 16> sync_{};
};

/// The bytes of a block and how many records they hold.
struct AvroBlock {
  ByteView bytes;
  int64_t num_records = 0;
};

/// Walks the blocks of a file, decompressing one at a time: for files that may expand to more than memory. Same bounds as
/// ForEachBlock, except that there is none for all blocks together. The reader must outlive it. One thread.
class AvroBlockCursor {
 public:
  explicit AvroBlockCursor(const AvroFileReader& file);
  /// The next block, none at the end; its bytes live until the next call. kCorruptData naming file and offset.
  Result<std::optional<AvroBlock>> Next();

 private:
  Result<AvroBlock> ReadBlock();

  const AvroFileReader& file_;
  AvroDecoder decoder_;
  Bytes buffer_;
};

/// Writes an Avro object container. Records are appended as already encoded bytes. One thread.
class AvroFileWriter {
 public:
  /// `level`: see CompressAvroBlock.
  AvroFileWriter(std::unique_ptr<io::OutputFile> file, std::string schema_json, AvroCodec codec,
                 std::map<std::string, std::string> metadata, std::optional<int> level = std::nullopt);
  Status Append(ByteView encoded_record);
  int64_t bytes_written() const;  ///< compressed so far, plus what is buffered
  /// Flushes and closes; returns the file's size.
  Result<int64_t> Finish();

 private:
  Status WriteHeader();
  Status FlushBlock();

  std::unique_ptr<io::OutputFile> file_;
  AvroCodec codec_;
  std::map<std::string, std::string> metadata_;
  std::optional<int> level_;
  std::array<std::byte, 16> sync_{};
  bool header_written_ = false;
  Bytes block_;
  int64_t num_records_ = 0;
};

}  // namespace frazil::format
