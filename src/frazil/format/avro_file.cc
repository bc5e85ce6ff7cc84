#include "frazil/format/avro_file.h"

#include <algorithm>
#include <string_view>

#include "frazil/base/uuid.h"
#include "frazil/format/avro_decoder.h"
#include "frazil/format/avro_encoder.h"

namespace frazil::format {
namespace {

constexpr std::string_view kMagic{"Obj\1", 4};
constexpr std::string_view kEncryptedMagic = "AGS1";
constexpr char kSchemaKey[] = "avro.schema";
constexpr char kCodecKey[] = "avro.codec";

// Deflate shrinks by at most 1032; much more than that is a bomb in another codec.
constexpr size_t kMaxExpansion = 1032;
constexpr size_t kAlwaysAllowedBytes = size_t{1} << 20;
constexpr size_t kMaxBlockBytes = size_t{64} << 20;
constexpr size_t kMaxTotalBytes = size_t{2} << 30;

// Uncompressed size at which a block is closed: what Java's writer uses.
constexpr size_t kBlockBytes = 64000;

}  // namespace

Result<AvroFileReader> AvroFileReader::Open(const io::FileIO& io, const std::string& path) {
  FRAZIL_ASSIGN(Bytes bytes, io.ReadFile(path));
  return FromBytes(std::move(bytes), path);
}

Result<AvroFileReader> AvroFileReader::FromBytes(Bytes bytes, std::string path) {
  AvroFileReader reader;
  reader.bytes_ = std::move(bytes);
  reader.path_ = std::move(path);
  if (Status status = reader.ReadHeader(); !status) {
    return tl::unexpected(std::move(status).error().WithContext("reading Avro file: " + reader.path_));
  }
  return reader;
}

Status AvroFileReader::ReadHeader() {
  std::string_view magic = AsText(bytes_).substr(0, kMagic.size());
  if (magic == kEncryptedMagic) return Fail(ErrorCode::kNotSupported, "encrypted Avro file: {}", path_);
  if (magic != kMagic) return Fail(ErrorCode::kCorruptData, "not an Avro file (wrong magic): {}", path_);
  AvroDecoder decoder(ByteView(bytes_).subspan(kMagic.size()));
  while (int64_t count = decoder.ReadItemCount(2)) {
    for (; count > 0 && decoder.ok(); --count) {
      std::string_view key = decoder.ReadString();
      metadata_[std::string(key)] = decoder.ReadString();
    }
  }
  ByteView sync = decoder.ReadFixed(sync_.size());
  if (!decoder.ok()) return Fail(decoder.error_code(), "Avro header: {}", decoder.error_text());
  std::copy(sync.begin(), sync.end(), sync_.begin());
  blocks_offset_ = bytes_.size() - decoder.remaining();
  auto codec = metadata_.find(kCodecKey);
  if (codec != metadata_.end()) {
    FRAZIL_ASSIGN(codec_, AvroCodecOfName(codec->second));
  }
  auto schema = metadata_.find(kSchemaKey);
  if (schema == metadata_.end()) return Fail(ErrorCode::kCorruptData, "Avro header lacks key: {}", kSchemaKey);
  FRAZIL_ASSIGN(schema_, ParseAvroSchema(schema->second));
  return {};
}

Status AvroFileReader::ForEachBlock(const std::function<Status(ByteView block, int64_t num_records)>& visit) const {
  AvroBlockCursor cursor(*this);
  size_t total_bytes = 0;
  for (;;) {
    FRAZIL_ASSIGN(const std::optional<AvroBlock> block, cursor.Next());
    if (!block) return {};
    total_bytes += block->bytes.size();
    if (total_bytes > kMaxTotalBytes) {
      return Fail(ErrorCode::kResourceExhausted, "Avro file expands to more than {} bytes: {}", kMaxTotalBytes, path_);
    }
    if (Status status = visit(block->bytes, block->num_records); !status) {
      return tl::unexpected(std::move(status).error().WithContext("reading Avro file: " + path_));
    }
  }
}

AvroBlockCursor::AvroBlockCursor(const AvroFileReader& file)
    : file_(file), decoder_(ByteView(file.bytes_).subspan(file.blocks_offset_)) {}

Result<std::optional<AvroBlock>> AvroBlockCursor::Next() {
  if (decoder_.remaining() == 0) return std::nullopt;
  const size_t offset = file_.bytes_.size() - decoder_.remaining();
  Result<AvroBlock> block = ReadBlock();
  if (block) return *block;
  return tl::unexpected(std::move(block).error().WithContext(
      fmt::format("reading the Avro block at offset {} of: {}", offset, file_.path_)));
}

Result<AvroBlock> AvroBlockCursor::ReadBlock() {
  AvroBlock block;
  block.num_records = decoder_.ReadLong();
  block.bytes = decoder_.ReadBytes();
  const ByteView sync = decoder_.ReadFixed(file_.sync_.size());
  if (!decoder_.ok()) return Fail(decoder_.error_code(), "{}", decoder_.error_text());
  if (!std::equal(sync.begin(), sync.end(), file_.sync_.begin())) {
    return Fail(ErrorCode::kCorruptData, "Avro block does not end with the file's sync marker");
  }
  if (file_.codec_ != AvroCodec::kNull) {
    const size_t limit = std::min(kMaxBlockBytes, kAlwaysAllowedBytes + block.bytes.size() * kMaxExpansion);
    FRAZIL_TRY(DecompressAvroBlock(file_.codec_, block.bytes, limit, buffer_));
    block.bytes = buffer_;
  }
  const int64_t min_record = std::max<int64_t>(1, file_.schema_->min_size_bytes);
  if (block.num_records < 0 || block.num_records > static_cast<int64_t>(block.bytes.size()) / min_record) {
    return Fail(ErrorCode::kCorruptData, "Avro block cannot hold its number of records: {}", block.num_records);
  }
  return block;
}

AvroFileWriter::AvroFileWriter(std::unique_ptr<io::OutputFile> file, std::string schema_json, AvroCodec codec,
                               std::map<std::string, std::string> metadata, std::optional<int> level)
    : file_(std::move(file)),
      codec_(codec),
      metadata_(std::move(metadata)),
      level_(level),
      sync_(Uuid::Random().bytes()) {
  metadata_[kSchemaKey] = std::move(schema_json);
  metadata_[kCodecKey] = AvroCodecName(codec);
}

Status AvroFileWriter::Append(ByteView encoded_record) {
  AppendBytes(block_, encoded_record);
  ++num_records_;
  if (block_.size() < kBlockBytes) return {};
  return FlushBlock();
}

int64_t AvroFileWriter::bytes_written() const { return file_->bytes_written() + static_cast<int64_t>(block_.size()); }

Status AvroFileWriter::WriteHeader() {
  Bytes header = CopyBytes(AsBytes(kMagic));
  AvroEncoder encoder(header);
  encoder.Array(metadata_, [&](const auto& entry) {
    encoder.String(entry.first);
    encoder.String(entry.second);
  });
  encoder.Raw(sync_);
  header_written_ = true;
  return file_->Append(header);
}

Status AvroFileWriter::FlushBlock() {
  if (!header_written_) FRAZIL_TRY(WriteHeader());
  if (num_records_ == 0) return {};
  Bytes compressed;
  FRAZIL_TRY(CompressAvroBlock(codec_, level_, block_, compressed));
  Bytes framed;
  framed.reserve(compressed.size() + 40);
  AvroEncoder encoder(framed);
  encoder.Long(num_records_);
  encoder.BytesValue(compressed);
  encoder.Raw(sync_);
  FRAZIL_TRY(file_->Append(framed));
  block_.clear();
  num_records_ = 0;
  return {};
}

Result<int64_t> AvroFileWriter::Finish() {
  FRAZIL_TRY(FlushBlock());
  const int64_t size_bytes = file_->bytes_written();
  FRAZIL_TRY(file_->Close());
  return size_bytes;
}

}  // namespace frazil::format
