#include "frazil/format/parquet_io.h"

#include <algorithm>

#include <arrow/buffer.h>
#include <arrow/util/future.h>

#include "frazil/format/parquet_error.h"

namespace frazil::format {
namespace {

class ArrowInputFile : public arrow::io::RandomAccessFile {
 public:
  explicit ArrowInputFile(std::shared_ptr<const io::InputFile> file) : file_(std::move(file)) {
    set_mode(arrow::io::FileMode::READ);
  }

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override {
    position_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> GetSize() override { return file_->size_bytes(); }

  arrow::Result<int64_t> Read(int64_t length, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position_, length, out));
    position_ += read;
    return read;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t length) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(position_, length));
    position_ += buffer->size();
    return buffer;
  }

  using arrow::io::RandomAccessFile::ReadAt;
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t length, void* out) override {
    if (position < 0 || length < 0)
      return arrow::Status::Invalid("read at offset ", position, " of ", length, " bytes");
    const int64_t available = std::max<int64_t>(file_->size_bytes() - position, 0);
    const int64_t wanted = std::min(length, available);
    const Status status = file_->ReadAt(position, {static_cast<std::byte*>(out), static_cast<size_t>(wanted)});
    if (!status) return ToArrow(status.error());
    return wanted;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t length) override {
    if (position < 0 || length < 0)
      return arrow::Status::Invalid("read at offset ", position, " of ", length, " bytes");
    // A hostile length must not be allocated: there are never more bytes than the file has.
    length = std::min(length, std::max<int64_t>(file_->size_bytes() - position, 0));
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(length));
    ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position, length, buffer->mutable_data()));
    return arrow::SliceBuffer(std::shared_ptr<arrow::Buffer>(std::move(buffer)), 0, read);
  }

 private:
  std::shared_ptr<const io::InputFile> file_;
  int64_t position_ = 0;
  bool closed_ = false;
};

class ArrowOutputStream : public arrow::io::OutputStream {
 public:
  explicit ArrowOutputStream(io::OutputFile* file) : file_(file) { set_mode(arrow::io::FileMode::WRITE); }

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return file_->bytes_written(); }
  using arrow::io::OutputStream::Write;
  arrow::Status Write(const void* data, int64_t length) override {
    const Status status = file_->Append({static_cast<const std::byte*>(data), static_cast<size_t>(length)});
    if (!status) return ToArrow(status.error());
    return arrow::Status::OK();
  }

 private:
  io::OutputFile* file_;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<arrow::io::RandomAccessFile> ToArrowFile(std::shared_ptr<const io::InputFile> file) {
  return std::make_shared<ArrowInputFile>(std::move(file));
}

std::shared_ptr<arrow::io::OutputStream> ToArrowStream(io::OutputFile* file) {
  return std::make_shared<ArrowOutputStream>(file);
}

}  // namespace frazil::format
