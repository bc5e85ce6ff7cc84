#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::test {

/// Files in memory whose ages are told by a clock that tests move, and that says before it lists, deletes, or shows a
/// file that was written: `before(operation, path)` gets "list", "delete" (of the first of them) and "close".
class TimedFileIO : public io::FileIO {
 public:
  using Before = std::function<void(const char* operation, const std::string& path)>;

  TimedFileIO(Clock& clock, Before before) : clock_(clock), before_(std::move(before)) {}

  Result<std::unique_ptr<io::InputFile>> Open(const std::string& path) const override { return files_.Open(path); }
  Result<std::unique_ptr<io::OutputFile>> Create(const std::string& path) override {
    FRAZIL_ASSIGN(auto file, files_.Create(path));
    return std::make_unique<Output>(*this, std::move(file), path);
  }
  Status Delete(const std::vector<std::string>& paths) override {
    if (!paths.empty()) before_("delete", paths.front());
    ++num_deletes_;
    return files_.Delete(paths);
  }
  Result<std::vector<io::FileInfo>> List(const std::string& prefix) const override {
    before_("list", prefix);
    FRAZIL_ASSIGN(auto listed, files_.List(prefix));
    const std::lock_guard lock(mutex_);
    for (io::FileInfo& file : listed) file.modified_ms = written_at_ms_.at(file.path);
    return listed;
  }
  Result<bool> Exists(const std::string& path) const override { return files_.Exists(path); }

  int64_t num_deletes() const { return num_deletes_; }
  /// Files whose path holds `part` are as if written now.
  void Touch(const std::string& part) {
    const std::lock_guard lock(mutex_);
    for (auto& [path, written_at_ms] : written_at_ms_) {
      if (path.find(part) != std::string::npos) written_at_ms = clock_.NowMs();
    }
  }

 private:
  class Output : public io::OutputFile {
   public:
    Output(TimedFileIO& store, std::unique_ptr<io::OutputFile> file, std::string path)
        : store_(store), file_(std::move(file)), path_(std::move(path)) {}
    Status Append(ByteView bytes) override { return file_->Append(bytes); }
    int64_t bytes_written() const override { return file_->bytes_written(); }
    Status Close() override {
      store_.before_("close", path_);
      FRAZIL_TRY(file_->Close());
      const std::lock_guard lock(store_.mutex_);
      store_.written_at_ms_[path_] = store_.clock_.NowMs();
      return {};
    }

   private:
    TimedFileIO& store_;
    std::unique_ptr<io::OutputFile> file_;
    const std::string path_;
  };

  Clock& clock_;
  const Before before_;
  io::MemoryFileIO files_;
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> written_at_ms_;
  std::atomic<int64_t> num_deletes_ = 0;
};

}  // namespace frazil::test
