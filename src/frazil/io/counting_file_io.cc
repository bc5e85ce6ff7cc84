#include "frazil/io/counting_file_io.h"

namespace frazil::io {
namespace {

class CountingInputFile : public InputFile {
 public:
  CountingInputFile(std::unique_ptr<InputFile> inner, std::shared_ptr<RequestCounters> counters)
      : inner_(std::move(inner)), counters_(std::move(counters)) {}

  const std::string& path() const override { return inner_->path(); }
  int64_t size_bytes() const override { return inner_->size_bytes(); }
  Status ReadAt(int64_t offset, std::span<std::byte> out) const override {
    return Counted(*counters_, "read", static_cast<int64_t>(out.size()), [&] { return inner_->ReadAt(offset, out); });
  }

 private:
  std::unique_ptr<InputFile> inner_;
  std::shared_ptr<RequestCounters> counters_;
};

class CountingOutputFile : public OutputFile {
 public:
  CountingOutputFile(std::unique_ptr<OutputFile> inner, std::shared_ptr<RequestCounters> counters)
      : inner_(std::move(inner)), counters_(std::move(counters)) {}

  Status Append(ByteView bytes) override { return inner_->Append(bytes); }
  int64_t bytes_written() const override { return inner_->bytes_written(); }
  Status Close() override {
    return Counted(*counters_, "write", inner_->bytes_written(), [&] { return inner_->Close(); });
  }

 private:
  std::unique_ptr<OutputFile> inner_;
  std::shared_ptr<RequestCounters> counters_;
};

}  // namespace

Result<std::unique_ptr<InputFile>> CountingFileIO::Open(const std::string& path) const {
  FRAZIL_ASSIGN(auto file, Counted(*counters_, "open", 0, [&] { return inner_->Open(path); }));
  return std::make_unique<CountingInputFile>(std::move(file), counters_);
}

Result<std::unique_ptr<OutputFile>> CountingFileIO::Create(const std::string& path) {
  FRAZIL_ASSIGN(auto file, Counted(*counters_, "create", 0, [&] { return inner_->Create(path); }));
  return std::make_unique<CountingOutputFile>(std::move(file), counters_);
}

Status CountingFileIO::Delete(const std::vector<std::string>& paths) {
  return Counted(*counters_, "delete", 0, [&] { return inner_->Delete(paths); });
}

Result<std::vector<FileInfo>> CountingFileIO::List(const std::string& prefix) const {
  return Counted(*counters_, "list", 0, [&] { return inner_->List(prefix); });
}

Status CountingFileIO::ForEachFile(const std::string& prefix, const VisitFile& visit) const {
  return Counted(*counters_, "list", 0, [&] { return inner_->ForEachFile(prefix, visit); });
}

Result<bool> CountingFileIO::Exists(const std::string& path) const {
  return Counted(*counters_, "exists", 0, [&] { return inner_->Exists(path); });
}

}  // namespace frazil::io
