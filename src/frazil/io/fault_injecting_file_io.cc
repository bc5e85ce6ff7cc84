#include "frazil/io/fault_injecting_file_io.h"

namespace frazil::io {
namespace {

using Decide = FaultInjectingFileIO::Decide;

class FaultInjectingInputFile : public InputFile {
 public:
  FaultInjectingInputFile(std::unique_ptr<InputFile> inner, Decide decide)
      : inner_(std::move(inner)), decide_(std::move(decide)) {}

  const std::string& path() const override { return inner_->path(); }
  int64_t size_bytes() const override { return inner_->size_bytes(); }
  Status ReadAt(int64_t offset, std::span<std::byte> out) const override {
    FRAZIL_TRY(decide_("read", path()));
    return inner_->ReadAt(offset, out);
  }

 private:
  std::unique_ptr<InputFile> inner_;
  Decide decide_;
};

class FaultInjectingOutputFile : public OutputFile {
 public:
  FaultInjectingOutputFile(std::unique_ptr<OutputFile> inner, Decide decide, std::string path)
      : inner_(std::move(inner)), decide_(std::move(decide)), path_(std::move(path)) {}

  Status Append(ByteView bytes) override {
    FRAZIL_TRY(decide_("append", path_));
    return inner_->Append(bytes);
  }
  int64_t bytes_written() const override { return inner_->bytes_written(); }
  Status Close() override {
    FRAZIL_TRY(decide_("close.before", path_));
    FRAZIL_TRY(inner_->Close());
    return decide_("close.after", path_);
  }

 private:
  std::unique_ptr<OutputFile> inner_;
  Decide decide_;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<InputFile>> FaultInjectingFileIO::Open(const std::string& path) const {
  FRAZIL_TRY(decide_("open", path));
  FRAZIL_ASSIGN(auto file, inner_->Open(path));
  return std::make_unique<FaultInjectingInputFile>(std::move(file), decide_);
}

Result<std::unique_ptr<OutputFile>> FaultInjectingFileIO::Create(const std::string& path) {
  FRAZIL_TRY(decide_("create", path));
  FRAZIL_ASSIGN(auto file, inner_->Create(path));
  return std::make_unique<FaultInjectingOutputFile>(std::move(file), decide_, path);
}

Status FaultInjectingFileIO::Delete(const std::vector<std::string>& paths) {
  // Asked for each file, so that a test can fail one in the middle; as the contract says, the others are still tried.
  Status first;
  auto keep = [&first](Status status) {
    if (first && !status) first = std::move(status);
  };
  for (const std::string& path : paths) {
    if (Status before = decide_("delete.before", path); !before) {
      keep(std::move(before));
      continue;
    }
    keep(inner_->Delete({path}));
    keep(decide_("delete.after", path));
  }
  return first;
}

Result<std::vector<FileInfo>> FaultInjectingFileIO::List(const std::string& prefix) const {
  FRAZIL_TRY(decide_("list", prefix));
  return inner_->List(prefix);
}

Status FaultInjectingFileIO::ForEachFile(const std::string& prefix, const VisitFile& visit) const {
  FRAZIL_TRY(decide_("list", prefix));
  return inner_->ForEachFile(prefix, visit);
}

Result<bool> FaultInjectingFileIO::Exists(const std::string& path) const {
  FRAZIL_TRY(decide_("exists", path));
  return inner_->Exists(path);
}

}  // namespace frazil::io
